#include "ops/call_line.hpp"

#include <gtest/gtest.h>
#include <limits>

#include "support/expect.hpp"
#include "verify/random.hpp"

namespace girih {
namespace {

using testing::must;
using testing::refused;
using verify::Random;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::optional<ViewLine> any_view(Random& random) {
  if (random.one_in(8)) return std::nullopt;
  ViewLine view{.dtype = static_cast<DType>(random.integer(0, kDTypeCount - 1)),
                .alignment = static_cast<int>(random.integer(0, 63))};
  std::array<std::int64_t, kMaxRank> extents{};
  const auto rank = static_cast<std::size_t>(random.integer(0, kMaxRank));
  for (std::size_t i = 0; i < rank; ++i) {
    extents[i] = random.one_in(4) ? kMax - random.integer(0, 9) : random.integer(0, 5000);
    view.strides[i] = random.one_in(4) ? kMax - random.integer(0, 9) : random.integer(0, 5000);
  }
  view.shape = Shape::of({extents.data(), rank});
  return view;
}

ScalarLine any_scalar(Random& random) {
  if (random.one_in(3)) return {.on_device = true};
  static constexpr auto kValues = std::to_array<float>(
      {0, 1, -0.0F, 0.1F, -1e-45F, 3.4e38F, std::numeric_limits<float>::infinity()});
  return {.value = random.one_in(2) ? random.pick(kValues) : static_cast<float>(random.real())};
}

/// Often one of the values, up to `last`, and at times none of them.
template <class Option>
Option any_option(Random& random, int last) {
  return static_cast<Option>(random.integer(0, random.one_in(8) ? 255 : last));
}

CallLine any_routing(Random& random, CallLine line) {
  if (line.op == Op::Route) {
    for (auto view : {&CallLine::logits, &CallLine::chosen, &CallLine::weights, &CallLine::offsets,
                      &CallLine::rows, &CallLine::sources, &CallLine::workspace}) {
      line.*view = any_view(random);
    }
    line.router_weights = any_option<RouterWeights>(random, 3);
    if (random.one_in(2)) line.scale = static_cast<float>(random.real());
    return line;
  }
  line.x = any_view(random);
  line.y = any_view(random);
  (line.op == Op::Permute ? line.sources : line.rows) = any_view(random);
  if (line.op == Op::Unpermute) line.weights = any_view(random);
  return line;
}

CallLine any_line(Random& random) {
  CallLine line{.op = static_cast<Op>(random.integer(0, static_cast<int>(Op::Unpermute))),
                .backend = static_cast<Backend>(random.integer(0, 3)),
                .threads = static_cast<int>(random.integer(1, kMaxThreads)),
                .captured = random.one_in(2),
                .kernel = random.one_in(4) ? "" : "cpu_gemm_f32_6x16_avx2",
                .status = random.one_in(2) ? Code::Ok : Code::GemmAliasing,
                .microseconds = random.real()};
  if (line.op == Op::Route || line.op == Op::Permute || line.op == Op::Unpermute) {
    return any_routing(random, line);
  }
  if (line.op != Op::Gemm && line.op != Op::GroupedGemm) {
    if (line.op != Op::Fill) line.source = any_view(random);
    line.destination = any_view(random);
    if (line.op == Op::Fill) line.value = random.real() * 1e300;
    return line;
  }
  for (auto view : {&CallLine::a, &CallLine::b, &CallLine::c, &CallLine::bias, &CallLine::residual,
                    &CallLine::a_scale, &CallLine::b_scale, &CallLine::workspace}) {
    line.*view = any_view(random);
  }
  if (line.op == Op::GroupedGemm) {
    line.offsets = any_view(random);
  } else {
    line.c_scale = any_view(random);
    line.c_granularity = any_option<Granularity>(random, 5);
  }
  line.residual_is_c = random.one_in(2);
  line.a_granularity = any_option<Granularity>(random, 5);
  line.b_granularity = any_option<Granularity>(random, 5);
  line.alpha = any_scalar(random);
  line.beta = any_scalar(random);
  line.activation = any_option<Activation>(random, 3);
  line.precision = any_option<Precision>(random, 2);
  line.path = any_option<Path>(random, 2);
  line.reproducibility = any_option<Reproducibility>(random, 1);
  if (random.one_in(2)) {
    line.gate = Gate{.activation = any_option<Activation>(random, 3),
                     .order = any_option<GateOrder>(random, 1),
                     .alpha = static_cast<float>(random.real()),
                     .limit = random.one_in(2) ? Gate().limit : static_cast<float>(random.real()),
                     .up_offset = static_cast<float>(random.real())};
  }
  return line;
}

/// Field by field: `to_text` leaves nothing out that is not a default.
bool equal(const CallLine& x, const CallLine& y) {
  return x.op == y.op && x.backend == y.backend && x.threads == y.threads &&
         x.captured == y.captured && x.a == y.a && x.b == y.b && x.c == y.c && x.bias == y.bias &&
         x.residual == y.residual && x.a_scale == y.a_scale && x.b_scale == y.b_scale &&
         x.residual_is_c == y.residual_is_c && x.a_granularity == y.a_granularity &&
         x.b_granularity == y.b_granularity && x.alpha == y.alpha && x.beta == y.beta &&
         x.c_scale == y.c_scale && x.c_granularity == y.c_granularity &&
         x.activation == y.activation && x.gate == y.gate && x.precision == y.precision &&
         x.path == y.path && x.reproducibility == y.reproducibility && x.workspace == y.workspace &&
         x.offsets == y.offsets && x.x == y.x && x.y == y.y && x.logits == y.logits &&
         x.chosen == y.chosen && x.weights == y.weights && x.rows == y.rows &&
         x.sources == y.sources && x.router_weights == y.router_weights && x.scale == y.scale &&
         x.source == y.source && x.destination == y.destination && x.value == y.value &&
         x.kernel == y.kernel && x.status == y.status && x.microseconds == y.microseconds;
}

TEST(CallLineTest, TheTextIsWhatTheDocumentsSay) {
  const CallLine line{.op = Op::Gemm,
                      .threads = 2,
                      .a = ViewLine{.shape = {64, 3}, .strides = {3, 1}},
                      .b = ViewLine{.shape = {3, 8}, .strides = {1, 3}, .alignment = 4},
                      .c = ViewLine{.dtype = DType::BF16, .shape = {64, 8}, .strides = {8, 1}},
                      .alpha = {.value = 0.5F},
                      .beta = {.on_device = true},
                      .kernel = "k",
                      .microseconds = 12.5};
  EXPECT_EQ(to_text(line),
            "girih-call-1 gemm backend=cpu threads=2 a=f32[64,3]:3,1@0 b=f32[3,8]:1,3@4 "
            "c=bf16[64,8]:8,1@0 alpha=0.5 beta=device kernel=k us=12.5");
  EXPECT_EQ(to_text({.op = Op::Fill, .destination = ViewLine{}, .value = 2}),
            "girih-call-1 fill backend=cpu destination=f32[]:@0 value=2");
}

TEST(CallLineTest, AGateIsOneFieldOfFiveParts) {
  CallLine line{.a = ViewLine{}, .b = ViewLine{}, .c = ViewLine{}};
  line.gate = Gate{.order = GateOrder::Interleaved, .alpha = 1.5F, .limit = 7, .up_offset = 1};
  const std::string text = to_text(line);
  EXPECT_NE(text.find(" gate=silu:interleaved:1.5:7:1"), std::string::npos) << text;
  line.gate = Gate{.activation = Activation::None};
  EXPECT_NE(to_text(line).find(" gate=none:concatenated:1:inf:0"), std::string::npos);
  const std::string head = text.substr(0, text.find(" gate="));
  for (const char* const gate : {"none", "silu", "silu:interleaved:1:7", "silu:1:interleaved:7:1",
                                 "silu:interleaved:1:7:1:2", "silu:interleaved:one:7:1", ""}) {
    EXPECT_TRUE(testing::refused(parse_call_line(head + " gate=" + gate), Code::FileFormat, "gate"))
        << gate;
  }
}

TEST(CallLineTest, EveryLineIsReadBackAsItWas) {
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    const CallLine line = any_line(random);
    const std::string text = to_text(line);
    const Result<CallLine> back = parse_call_line(text);
    ASSERT_TRUE(testing::succeeded(back)) << text;
    ASSERT_TRUE(equal(*back, line)) << text << "\n" << to_text(*back);
    ASSERT_TRUE(testing::succeeded(parse_call_line(text + "\n")));
    ASSERT_LT(text.size(), 2700U);
  }
}

TEST(CallLineTest, EveryCutOfALineIsRefusedOrAnotherWholeLine) {
  Random random(2);
  int refusals = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string text = to_text(any_line(random));
    for (std::size_t length = 0; length < text.size(); ++length) {
      const Result<CallLine> line = parse_call_line(std::string_view(text).substr(0, length));
      // Only optional fields come last, and a number or a name may be cut to a shorter one.
      if (!line) {
        ++refusals;
        EXPECT_TRUE(line.error().code == Code::FileFormat ||
                    line.error().code == Code::FileUnsupported);
      }
    }
  }
  EXPECT_GT(refusals, 2000);
}

TEST(CallLineTest, MutatedLinesAreRefusedOrReadStably) {
  Random random(3);
  int accepted = 0, refusals = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = to_text(any_line(random));
    for (std::int64_t changes = random.integer(1, 3); changes > 0; --changes) {
      const auto at =
          static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(text.size()) - 1));
      switch (random.integer(0, 3)) {
        case 0:
          text[at] = static_cast<char>(random.integer(0, 255));
          break;
        case 1:
          text.erase(at, static_cast<std::size_t>(random.integer(1, 20)));
          break;
        case 2:
          text.insert(at, text.substr(at / 2, static_cast<std::size_t>(random.integer(1, 20))));
          break;
        default:
          text[at] = "=,@[]: -0123456789"[static_cast<std::size_t>(random.integer(0, 17))];
      }
      if (text.empty()) text = "x";
    }
    const Result<CallLine> line = parse_call_line(text);
    if (!line) {
      ++refusals;
      ASSERT_FALSE(line.error().message.empty());
      for (const char c : line.error().message) {
        ASSERT_TRUE(c >= 0x20 && c <= 0x7E) << line.error().message;
      }
      continue;
    }
    ++accepted;
    const Result<CallLine> again = parse_call_line(to_text(*line));
    ASSERT_TRUE(testing::succeeded(again)) << text;
    ASSERT_EQ(to_text(*again), to_text(*line));
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refusals, 10'000);
}

TEST(CallLineTest, HostileLines) {
  const auto fill = [](const std::string& rest) {
    return parse_call_line("girih-call-1 fill backend=cpu " + rest);
  };
  const std::string good = "destination=f32[4]:1@0 value=2";
  EXPECT_TRUE(testing::succeeded(fill(good)));
  EXPECT_TRUE(refused(parse_call_line(""), Code::FileFormat, "begins"));
  EXPECT_TRUE(refused(parse_call_line(std::string(100'000, 'a')), Code::FileFormat, "100000"));
  EXPECT_TRUE(refused(parse_call_line("girih-call-"), Code::FileUnsupported, "version ''"));
  EXPECT_TRUE(refused(parse_call_line("girih-call-2 fill"), Code::FileUnsupported, "version '2'"));
  EXPECT_TRUE(refused(parse_call_line("girih-call-11 fill"), Code::FileUnsupported, "'11'"));
  EXPECT_TRUE(refused(parse_call_line("girih-call-1"), Code::FileFormat, "operation"));
  EXPECT_TRUE(refused(parse_call_line("girih-call-1 softmax"), Code::FileFormat, "softmax"));
  EXPECT_TRUE(refused(parse_call_line("girih-call-1 fill " + good), Code::FileFormat, "backend"));
  EXPECT_TRUE(refused(fill("value=2"), Code::FileFormat, "destination is missing"));
  EXPECT_TRUE(refused(fill(good + " value=3"), Code::FileFormat, "value is there twice"));
  EXPECT_TRUE(refused(fill(good + " alpha=3"), Code::FileFormat, "alpha is no field of fill"));
  EXPECT_TRUE(refused(fill(good + "  us=3"), Code::FileFormat, "key=value"));
  EXPECT_TRUE(refused(fill(good + " us="), Code::FileFormat, "us"));
  EXPECT_TRUE(refused(fill(good + " =3"), Code::FileFormat, "key=value"));
  EXPECT_TRUE(refused(fill(good + " threads=0"), Code::FileFormat, "threads"));
  EXPECT_TRUE(refused(fill(good + " threads=1025"), Code::FileFormat, "threads"));
  EXPECT_TRUE(refused(fill(good + " threads=99999999999999999999"), Code::FileFormat, "threads"));
  EXPECT_TRUE(refused(fill(good + "\nstatus=Ok"), Code::FileFormat, "value"));
  EXPECT_TRUE(refused(fill(good + " status=Fine"), Code::FileFormat, "status"));
  for (const char* view :
       {"f31[4]:1@0", "f32[4]:1", "f32[4]1@0", "f32[4:1@0", "f32 4]:1@0", "f32[-4]:1@0",
        "f32[4]:-1@0", "f32[4,]:1@0", "f32[4]:1,1@0", "f32[4]:1@64", "f32[4]:1@-4", "f32[4]:1@0x",
        "f32[9223372036854775808]:1@0", "f32[1,1,1,1,1,1,1]:1,1,1,1,1,1,1@0", "f32[ 4]:1@0", "[4]",
        "", "none "}) {
    EXPECT_FALSE(fill("destination=" + std::string(view) + " value=2").has_value()) << view;
  }
}

}  // namespace
}  // namespace girih
