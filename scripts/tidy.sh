#!/usr/bin/env bash
# Runs clang-tidy (version 14) over the library and the command. Usage: scripts/tidy.sh [FILE...]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install_packages.sh
install_packages "${build_packages[@]}" "${test_packages[@]}"
cmake --preset dev >/dev/null
files=("$@")
if ((${#files[@]} == 0)); then
  # Those of this machine's build: another instruction set's or system's have no flags here.
  mapfile -t files < <(python3 -c 'import json
for entry in json.load(open("build/dev/compile_commands.json")): print(entry["file"])' |
    sed "s|^$PWD/||" | grep -E '^(src|tools)/.*\.cpp$' | sort -u)
fi
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 -p build/dev --quiet
