#!/usr/bin/env python3
"""test_libargos - the C library is what its header says: it exports those functions and no other, and needs no foreign header.

A program that knows only what `pkg-config` would tell it is compiled, in C and in C++, linked and run.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["ARGOS_BUILD"])
HEADERS = [ROOT / "clients" / "c" / "argos.h", ROOT / "schema" / "argos_errors.h"]
NEEDED = {"libzmq", "libjansson", "libsodium", "libm", "libc", "libpthread", "libasan", "libubsan", "libtsan", "libgcov", "libgcc_s",
          "ld-linux-x86-64", "ld-linux-aarch64"}
PROGRAM = """
#include <argos.h>
int main (void)
{
    char reason[256];
    argos_options_t options = argos_options_t ();
    options.name = "not a name";
    options.endpoint = "ipc:///nowhere";
    return argos_new (&options, reason, sizeof reason) == 0 ? 0 : 1;
}
"""


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def declared():
    names = set()
    for header in HEADERS:
        text = re.sub(r"//[^\n]*", "", header.read_text(encoding="utf-8"))
        text = re.sub(r"\{[^{}]*\}", "", re.sub(r"\([^()]*\)", "()", text.replace("typedef", "\ntypedef")))
        names |= set(re.findall(r"^[a-z][\w \n]*?[ *](argos_\w+)\s*\(", text, re.M)) - set(re.findall(r"typedef[^;]*?\b(argos_\w+_fn)\b", text))
    return names


def check_exports():
    lines = output("nm", "-D", "--defined-only", str(BUILD / "libargos.so.1")).splitlines()
    exported = {line.split()[2].split("@")[0] for line in lines} - {"ARGOS_1"}
    assert exported == declared(), f"not in both: {sorted(exported ^ declared())}"
    dynamic = output("readelf", "-d", str(BUILD / "libargos.so.1"))
    assert "soname: [libargos.so.1]" in dynamic
    needed = {name.split(".so")[0] for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)}
    assert needed <= NEEDED, f"needs {sorted(needed - NEEDED)}"


def check_header():
    """Its headers alone, in a folder of their own, are enough."""
    with tempfile.TemporaryDirectory() as folder:
        for header in HEADERS:
            pathlib.Path(folder, header.name).write_bytes(header.read_bytes())
        sanitize = "-fsanitize=address,undefined" if "libasan" in output("readelf", "-d", str(BUILD / "libargos.so.1")) else "-g"
        for language, start in (("c", "{ 0 }"), ("c++", "argos_options_t ()")):
            source = PROGRAM.replace("argos_options_t ()", start)
            program = os.path.join(folder, "program")
            subprocess.run(["cc", "-x", language, "-", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror", sanitize, "-I", folder,
                            "-o", program, "-L", str(BUILD), "-largos", f"-Wl,-rpath,{BUILD}"], input=source, text=True, check=True)
            subprocess.run([program], check=True)


def check_pkg_config():
    text = (BUILD / "libargos.pc").read_text(encoding="utf-8")
    assert "@" not in text and "-largos" in text and "Requires.private: libzmq jansson libsodium" in text


def check_command_line():
    """`argos` links the library alone, beside what reads JSON and edits lines; what needs more is done by argosd."""
    dynamic = output("readelf", "-d", str(BUILD / "argos"))
    needed = {name.split(".so")[0] for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)}
    assert "[libargos.so.1]" in dynamic
    allowed = NEEDED - {"libzmq", "libsodium"} | {"libargos", "libedit"}
    assert needed <= allowed, f"argos needs {sorted(needed - allowed)}"
    inside = re.findall(r" [TtBbDd] ((?:argos_(?:peer|shell|lease|config|keys|store|schema|header)|sqlite3|curl|zmq|zsock)_\w+)", output("nm", str(BUILD / "argos")))
    assert not inside, f"argos has {inside[:5]}"


check_command_line()
check_exports()
check_header()
check_pkg_config()
print(f"{len(declared())} functions")
sys.exit(0)
