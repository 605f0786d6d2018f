#include "runtime/gemm_choices.hpp"

namespace girih::inline v0 {

Result<GemmSelection> GemmChoices::choose(const GemmProblem& problem,
                                          const SelectionContext& context) noexcept {
  const GemmKey key = key_of(problem, context.threads);
  const std::uint64_t hash = hash_of(key);
  Set& set = sets_[hash % kSets];
  std::size_t place = set.oldest;
  for (std::size_t way = 0; way < kWays; ++way) {
    const Choice& found = set.ways[way];
    if (set.hashes[way] != hash || found.selection.kernel == nullptr || found.key != key) continue;
    if (found.selection.kernel->obstacle.empty()) return found.selection;
    place = way;
  }
  Result<GemmSelection> chosen = select(problem, context);
  if (!chosen) return chosen;
  if (place == set.oldest) set.oldest = (set.oldest + 1) % kWays;
  set.ways[place] = {key, *chosen};
  set.hashes[place] = hash;
  return chosen;
}

}  // namespace girih::inline v0
