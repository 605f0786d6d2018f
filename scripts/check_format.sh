#!/usr/bin/env bash
# Fails if a C++ file is not laid out as .clang-format says (version 14). --fix lays it out.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run -Werror)
if [[ "${1:-}" == --fix ]]; then mode=(-i); fi
find include src tools tests bench examples -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) \
  -print0 | xargs -0 clang-format-14 "${mode[@]}"
