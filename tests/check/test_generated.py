#!/usr/bin/env python3
"""test_generated - what is made from schema/ is what schema/ says."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.exit(subprocess.run([sys.executable, "-B", str(ROOT / "schema" / "generate.py"), "--check"], check=False).returncode)
