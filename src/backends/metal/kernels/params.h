// What the kernels are given, read by host and GPU. Whoever includes this has defined Index, a
// signed integer of 64 bits, and Word, an unsigned one of 32.

enum ElementCode : Word { kF32, kBF16, kF16, kI32, kI8, kF8E4M3, kF8E5M2 };

// Strides in elements. A vector uses `row` or `column`.
struct StridedView {
  Index row, column, batch;
  Word type;        // ElementCode
  Word is_present;  // 0: the term is not there
};

// c = activation(alpha a_scale[m] b_scale[n] A B + beta c + bias[n]) + residual, a tile of C at a
// time. With more than one slice of K the sums go to partials[slice][batch][m][n] instead.
//
// A gate joins two products, g of the columns that B, the bias and the scale of B state, and u of
// those that lie *_up elements on; their partials are [slice][batch][m][2][n]. A tile then has half
// of its columns of each, so that C's tile is half as wide.
struct GemmParams {
  StridedView a, b, c, residual;
  StridedView bias, b_scale;  // `column`
  StridedView a_scale;        // `row`
  Index m, n, k, batch;
  Index tiles_m, tiles_n;
  Index units;  // tiles of all products and slices
  Index slice;  // of K: all but the last have this depth
  Index run;    // of K: what one matmul2d multiplies at most
  Index b_up, bias_up, b_scale_up;
  float alpha, beta;
  Word is_alpha_on_device, is_beta_on_device;
  Word slices;
  Word band;             // tiles: rows of a band, or columns if is_column_major
  Word is_column_major;  // order of tiles
  Word reads_c;
  Word activation;  // as Activation
  Word is_gated;
  float gate_alpha, gate_limit, up_offset;
  Word padding;
};

// destination[i] = convert(source[i]), or the low bytes of `pattern`. The last dimension is walked
// by neighbouring threads, a segment of it by each SIMD group.
enum WalkConstants : Word { kWalkRank = 6, kWalkSegment = 512 };
struct WalkParams {
  Index extents[kWalkRank];
  Index source_strides[kWalkRank];
  Index destination_strides[kWalkRank];
  Index pattern;
  Index segments, segments_per_row;
  Word source_type, destination_type;  // ElementCode
  Word bytes;                          // of an element, for copies and fills
  Word padding;
};

// An f32 operand on its way to the matrix unit, in tf32 (10 fraction bits), to nearest even. Split
// ones have high + low = x up to 2^-23 x, in three parts: low, high, high of A, and high, low, high
// of B. Of infinity and NaN only the last part is not 0, so that they meet no 0 of a low part.
enum PartsCode : Word { kRounded, kPartsOfA, kPartsOfB };
struct PartsParams {
  WalkParams walk;
  Index part_stride;  // of the destination: from one part to the next
  Word code;          // PartsCode
  Word padding;
};

// Packed nibbles: whole bytes, then the low half of the last one if the count is odd.
struct NibbleParams {
  Index count;
  Word is_fill;  // `pattern` instead of the source
  Word pattern;  // a byte of two equal nibbles
};
