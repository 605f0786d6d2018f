#include "girih/print.hpp"

#include <algorithm>
#include <cstdio>

namespace girih::cli {

void print_json(const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

Json to_json(const Plan& plan) {
  Json rejected = Json::array();
  for (const Plan::Rejected& row : plan.rejected) {
    rejected.push_back({{"kernel", row.kernel}, {"reason", row.reason}});
  }
  return {{"kernel", plan.kernel},
          {"backend", name(plan.backend)},
          {"device", plan.device},
          {"tile", plan.tile},
          {"block", plan.block},
          {"split_k", plan.split_k},
          {"traversal", name(plan.traversal)},
          {"threads", plan.threads},
          {"workspace_bytes", plan.workspace_bytes},
          {"flops", plan.flops},
          {"bytes", plan.bytes},
          {"predicted_seconds", plan.predicted_seconds},
          {"reduction", plan.reduction},
          {"notes", plan.notes},
          {"rejected", rejected}};
}

Json to_json(Features features) {
  Json names = Json::array();
  for (const Feature feature : {
#define GIRIH_FEATURE(name, text) Feature::name,
#include "core/format.hpp"
#include "plan/features.inc"
#undef GIRIH_FEATURE
       }) {
    if (features.has(feature)) names.push_back(name(feature));
  }
  return names;
}

Json to_json(DTypes types) {
  Json names = Json::array();
  for (int i = 0; i < kDTypeCount; ++i) {
    if (types.has(static_cast<DType>(i))) names.push_back(name(static_cast<DType>(i)));
  }
  return names;
}

std::string show_seconds(double seconds) {
  if (seconds < 1e-3) return formatted("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return formatted("{:.3g} ms", seconds * 1e3);
  return formatted("{:.3g} s", seconds);
}

std::string show_bytes(std::int64_t bytes) {
  constexpr std::int64_t kKiB = 1024;
  if (bytes >= kKiB * kKiB * kKiB) {
    return formatted("{:.3g} GiB",
                     static_cast<double>(bytes) / static_cast<double>(kKiB * kKiB * kKiB));
  }
  if (bytes >= kKiB * kKiB) {
    return formatted("{:.4g} MiB", static_cast<double>(bytes) / static_cast<double>(kKiB * kKiB));
  }
  if (bytes >= kKiB) {
    return formatted("{:.4g} KiB", static_cast<double>(bytes) / static_cast<double>(kKiB));
  }
  return formatted("{} B", bytes);
}

void Table::print() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 < row.size() ? formatted("{:<{}}  ", row[i], widths[i]) : row[i];
    }
    std::printf("%s\n", line.c_str());
  }
}

}  // namespace girih::cli
