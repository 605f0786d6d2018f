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

TEST(Rounds, UseAClockOfTheContendersOwn) {
  std::string order;
  Contender own = sleeper("a", std::chrono::microseconds(100), order);
  own.units = 2;
  std::int64_t asked = 0;
  own.clock = [&](std::int64_t, std::int64_t runs) -> Result<double> {
    asked = runs;
    return 0.25 * static_cast<double>(runs);
  };
  const auto times = run_rounds(std::span(&own, 1), quick());
  ASSERT_TRUE(times);
  EXPECT_EQ((*times)[0].seconds, std::vector<double>(6, 0.125));
  EXPECT_EQ(asked, (*times)[0].iterations);
  EXPECT_EQ(order, "");
  own.clock = [](std::int64_t, std::int64_t) -> Result<double> { return 0.0; };
  EXPECT_FALSE(run_rounds(std::span(&own, 1), quick()));
  own.clock = [](std::int64_t, std::int64_t) -> Result<double> {
    return error(Code::DeviceFailed, "no clock");
  };
  EXPECT_EQ(run_rounds(std::span(&own, 1), quick()).error().message, "no clock");
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
