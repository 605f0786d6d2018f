#!/usr/bin/env bash
# On a Mac with macOS 26: builds girih with a metallib of its kernels, tests its metal backend under
# Metal's validation layers, on that and on kernels compiled from their text, and measures it. What is printed is also in girih_metal_report.txt, which docs/metal.md asks for.
# Usage: scripts/test_on_mac.sh
set -uo pipefail
cd "$(dirname "$0")/.."
if [[ "$(uname)" != Darwin ]]; then
  echo "$0: no Mac; ctest --preset dev -R metal runs the backend on the emulator" >&2
  exit 1
fi
report() {
  sw_vers && sysctl -n hw.model machdep.cpu.brand_string hw.memsize && xcodebuild -version
  git rev-parse HEAD
  xcrun -sdk macosx metal --version || echo "no Metal compiler: kernels are compiled from their text"
  cmake --preset dev -DGIRIH_WERROR=OFF -DGIRIH_METALLIB=AUTO && cmake --build --preset dev || return 1
  build/dev/tools/girih/girih probe
  MTL_DEBUG_LAYER=1 MTL_SHADER_VALIDATION=1 ctest --preset dev -R '/metal'
  local status=$?
  build/dev/tools/girih/girih bench gemm --backend metal
  cmake --preset dev -DGIRIH_WERROR=OFF -DGIRIH_METALLIB=OFF && cmake --build --preset dev || return 1
  MTL_DEBUG_LAYER=1 MTL_SHADER_VALIDATION=1 \
    ctest --preset dev -R '(GemmGrid|GemmGate|Elementwise).*/metal_eager' || status=$?
  return "$status"
}
report 2>&1 | tee girih_metal_report.txt
exit "${PIPESTATUS[0]}"
