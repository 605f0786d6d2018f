#!/usr/bin/env bash
# Runs cases of the fuzzer under compute-sanitizer, on an NVIDIA GPU: every operation under memcheck,
# every row of products under synccheck, and under racecheck those whose shared memory threads alone
# write (it does not know the tensor copies of wgmma rows).
# Usage: scripts/sanitize_cuda.sh GIRIH [CASES]     CASES: of each run, default 60
set -euo pipefail
girih=${1:?usage: scripts/sanitize_cuda.sh GIRIH [CASES]}
cases=${2:-60}
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check TOOL OPERATION [ROW]: prints one line; fails unless the tool found nothing and no case failed.
# Rows refuse the cases of other types.
check() {
  local log=$work/$1.$2.${3:-any} status=0
  "$sanitizer" --tool "$1" --error-exitcode 9 --print-limit 4 "$girih" verify --op "$2" --backend cuda \
    --cases "$cases" --seed 5 ${3:+--kernel "$3"} >"$log" 2>&1 || status=$?
  local found
  found=$(grep -E 'passed' "$log" | head -1)
  # 4 is the fuzzer's: all were refused.
  if ((status != 0 && status != 4)); then
    echo "$1 ${3:-$2}: exit $status"
    cat "$log"
    return 1
  fi
  echo "$1 ${3:-$2}: nothing found; ${found#*:}"
}
export -f check
export girih cases sanitizer work

rows=$("$girih" kernels --backend cuda | awk '/^cuda_gemm_/ {print $1}')
{
  for operation in gemm grouped_gemm route permute unpermute copy cast fill; do
    echo "memcheck $operation"
    [[ $operation == gemm ]] || echo "synccheck $operation"
  done
  for operation in route permute unpermute copy cast fill; do echo "racecheck $operation"; done
  for row in $rows; do
    echo "synccheck gemm $row"
    [[ $row == *wgmma* ]] || echo "racecheck gemm $row"
  done
} | xargs -P 12 -L 1 bash -c 'check "$@"' _
