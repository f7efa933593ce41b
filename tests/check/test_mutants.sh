#!/usr/bin/env bash
#  test_mutants - each fault that ./dev mutants plants still changes a line: one that does not would be missed until somebody runs them all.

exec bash "$(dirname "$0")/../dev/mutants.sh" 0
