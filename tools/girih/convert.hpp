#pragma once

#include <string_view>

#include <girih/io.hpp>

namespace girih::cli {

/// The array with its elements rounded once, to nearest even, to `dtype`; strides are kept. To i8,
/// values must round into -128..127. `what` names the array in errors.
Result<HostArray> convert(HostArray array, DType dtype, std::string_view what);

/// The array with its last two dimensions swapped, as a view; of rank 0 and 1 as it is.
HostArray transposed(HostArray array);
ArrayInfo transposed(ArrayInfo info);

}  // namespace girih::cli
