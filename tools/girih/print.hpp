#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <girih/plan.hpp>

#include "plan/kernel_info.hpp"

namespace girih::cli {

using Json = nlohmann::ordered_json;

/// One JSON object on standard output. Text that is not UTF-8 (a path may be) is mended.
void print_json(const Json& json);
/// The fields of `Plan`, by their names.
Json to_json(const Plan& plan);
Json to_json(Features features);
Json to_json(DTypes types);

/// "12.3 us", "4.56 ms", "7.89 s"
std::string show_seconds(double seconds);
/// "48 KiB", "2 MiB"
std::string show_bytes(std::int64_t bytes);

/// Rows of text, printed with the columns aligned and two spaces between them.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace girih::cli
