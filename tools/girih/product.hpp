#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <girih/io.hpp>

#include "girih/options.hpp"
#include "ops/gemm.hpp"

namespace girih::cli {

/// The type that an operand of `stored` type is multiplied in. f64 is never narrowed unasked.
Result<DType> operand_type(DType stored, std::optional<DType> in_dtype, std::string_view what);

/// The product of A and B as they are used (transposed and converted), with no epilogue but a gate;
/// C is row-major. A rank or extent that cannot be is left to `check`.
GemmSpec make_spec(const ArrayInfo& a, const ArrayInfo& b, const ProductOptions& options);

}  // namespace girih::cli
