#include "tests/support.hpp"

#include <fstream>
#include <sstream>

namespace girih::inline v0::emulator {

std::vector<int> marked_lines(const std::string& file, const std::string& name) {
  std::ifstream source(std::string(GIRIH_EMULATOR_KERNELS) + "/" + file);
  std::vector<int> lines;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    const std::size_t mark = line.find("// fault:");
    if (mark == std::string::npos) continue;
    std::istringstream names(line.substr(mark + 9));
    for (std::string word; names >> word;) {
      if (word == name) lines.push_back(number);
    }
  }
  return lines;
}

::testing::AssertionResult found_at(const std::optional<Finding>& finding, const std::string& kinds,
                                    const std::string& file, const std::string& name) {
  const std::vector<int> lines = marked_lines(file, name);
  if (lines.empty()) return ::testing::AssertionFailure() << file << " marks nothing with " << name;
  if (!finding) return ::testing::AssertionFailure() << "nothing was found";
  bool is_named = false;
  for (const int line : lines) {
    const std::string place = file + ":" + std::to_string(line);
    const std::size_t at = finding->text.find(place);
    is_named |= at != std::string::npos && std::isdigit(finding->text[at + place.size()]) == 0;
  }
  const bool is_kind = kinds.find(finding->kind) != std::string::npos;
  if (is_kind && is_named) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << finding->kind << ": " << finding->text << "\n  expected "
                                       << kinds << " at " << file << ", mark " << name;
}

}  // namespace girih::inline v0::emulator
