#!/bin/bash
# Builds proto/bench with JOBS parallel compilations; fails on spills, stack or C75xx.
set -e
cd "$(dirname "$0")/.."
K=src/backends/cuda/kernels
B=build/${DEV:+dev}; mkdir -p $B
FLAGS="-std=c++20 -O3 --expt-relaxed-constexpr -gencode=arch=compute_90a,code=sm_90a -Xptxas -v -I$K -Iproto ${DEV:+-DGIRIH_NT_ONLY}"
NEW=$(ls -t $K/*.cuh $K/*.hpp | head -1)
for f in $K/*.cu $K/*.cpp proto/check_kernels.cu proto/bench.cpp; do
    o=$B/$(basename $f).o
    if [ -z "$ALL" ] && [ -f $o ] && [ $o -nt $f ] && [ $o -nt $NEW ] && [ $f != proto/bench.cpp ]; then continue; fi
    case $f in *.cpp) C="g++ -std=c++20 -O2 -I$K -Iproto -I/usr/local/cuda/include" ;; *) C="nvcc $FLAGS" ;; esac
    echo "s=\$(date +%s%N); $C -c $f -o $o 2> $o.log || { rm -f $o; cat $o.log | grep -i error | head; exit 255; }; echo $(basename $f) \$(((\$(date +%s%N)-s)/1000000)) ms"
done | xargs -P ${JOBS:-1} -I{} bash -c "{}"
if grep -h "C75\|[1-9][0-9]* bytes spill" $B/*.cu.o.log | grep -v "bench"; then echo "SPILLS or C75xx"; fi
nvcc -o $B/bench $B/*.o -lcublasLt -lcuda 2>/dev/null || nvcc -o $B/bench $B/*.o -lcublasLt
[ -f $B/gemm_wgmma_f16_7.cu.o ] && rm -f $B/libgemm.a && ar rc $B/libgemm.a $B/gemm_*.o $B/check_kernels.cu.o
