# One translation unit a target; only it is compiled for that instruction set. The flags must name
# all that Highway's target of that level asks for.
set(avx2_flags -mavx2 -mfma -mf16c -mbmi -mbmi2 -mpclmul -maes)
set(avx512_flags ${avx2_flags} -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl)
