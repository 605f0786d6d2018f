#include "measure/rounds.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "core/error.hpp"

namespace girih {
namespace {

RoundOptions quick() {
  return {.rounds = 6, .round_seconds = 0.002, .warm_up_seconds = 0.05, .progress = {}};
}

Contender sleeper(std::string name, std::chrono::microseconds time, std::string& order) {
  return {name,
          [=, &order](std::int64_t) -> Status {
            order += name;
            std::this_thread::sleep_for(time);
            return {};
          },
          {}};
}

TEST(Rounds, SeeATwofoldDifferenceAndNoneWhereThereIsNone) {
  using std::chrono::microseconds;
  std::string order;
  const Contender contenders[] = {sleeper("a", microseconds(2000), order),
                                  sleeper("b", microseconds(4000), order),
                                  sleeper("c", microseconds(2000), order)};
  const auto times = run_rounds(contenders, quick());
  ASSERT_TRUE(times);
  ASSERT_EQ(times->size(), 3U);
  for (const Times& record : *times) EXPECT_EQ(record.seconds.size(), 6U);
  // Wide margins: the machine may be busy with other tests.
  EXPECT_LT(paired_ratio((*times)[0].seconds, (*times)[1].seconds).median, 0.75);
  EXPECT_GT(paired_ratio((*times)[0].seconds, (*times)[2].seconds).median, 0.75);
}

TEST(Rounds, AlternateTheOrder) {
  std::string order;
  const Contender contenders[] = {sleeper("a", std::chrono::microseconds(2100), order),
                                  sleeper("b", std::chrono::microseconds(2100), order)};
  ASSERT_TRUE(run_rounds(contenders, quick()));
  ASSERT_GE(order.size(), 12U);
  EXPECT_EQ(order.substr(order.size() - 12), "abbaabbaabba");
}

TEST(Rounds, CountTheUnitsOfARun) {
  std::string order;
  Contender four = sleeper("a", std::chrono::microseconds(8000), order);
  four.units = 4;
  const Contender contenders[] = {four, sleeper("b", std::chrono::microseconds(8000), order)};
  const auto times = run_rounds(contenders, quick());
  ASSERT_TRUE(times);
  const double ratio = paired_ratio((*times)[1].seconds, (*times)[0].seconds).median;
  EXPECT_GT(ratio, 3);
  EXPECT_LT(ratio, 5.5);
}

TEST(Trials, GiveMediansInTurn) {
  std::string order;
  const Contender contenders[] = {sleeper("a", std::chrono::microseconds(2000), order),
                                  sleeper("b", std::chrono::microseconds(5000), order)};
  const auto seconds = run_trials(contenders, 3, 2);
  ASSERT_TRUE(seconds);
  EXPECT_EQ(order, "aabbaabbaabbaabb");
  EXPECT_GE((*seconds)[0], 0.002);
  EXPECT_LT((*seconds)[0], (*seconds)[1]);
}

TEST(Trials, PassOnAFailure) {
  const Contender contenders[] = {
      {"broken", [](std::int64_t) -> Status { return error(Code::DeviceFailed, "broken"); }, {}}};
  EXPECT_FALSE(run_trials(contenders, 3, 1));
}

TEST(Rounds, PassOnAFailure) {
  const Contender contenders[] = {
      {"broken", [](std::int64_t) -> Status { return error(Code::DeviceFailed, "broken"); }, {}}};
  const auto times = run_rounds(contenders, quick());
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().message, "broken");
}

}  // namespace
}  // namespace girih
