#pragma once

#include <functional>
#include <string>

#include "girih/options.hpp"
#include "plan/gemm.hpp"

namespace girih::cli {

/// "avx2-2c, h200, ...": devices that a plan can be made for anywhere.
std::string fixture_names();

/// Prints what `explain` says of the fixture `device`, or of this machine if it is "", for people
/// or as the JSON object that `plan --help` describes; gives the exit code.
Result<int> show_plan(const ProductOptions& options, const std::string& device,
                      const std::function<Result<Plan>(const SelectionContext&)>& explain);

}  // namespace girih::cli
