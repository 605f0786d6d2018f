#!/usr/bin/env bash
# Builds girih with the `dev` preset and runs every test that needs no accelerator.
# Usage: scripts/test.sh [ctest arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install_packages.sh
install_packages "${build_packages[@]}" "${test_packages[@]}"

scripts/check_format.sh
cmake --preset dev
cmake --build --preset dev
ctest --preset dev -LE 'cuda|apple|deep' "$@"
