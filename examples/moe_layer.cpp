// A mixture-of-experts layer, captured once and replayed: each token goes to the two of eight
// experts that its router likes best, through w_down(silu(x w_gate) * (x w_up)) of each, and back.
//
// The tokens of the second step choose other experts than those of the first: nothing is captured
// anew, and nothing waits for the host.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <girih/girih.hpp>

namespace {

constexpr int kTokens = 48, kModel = 64, kHidden = 96, kExperts = 8, kChosen = 2;
constexpr int kPairs = kTokens * kChosen;

/// Everything that the layer reads and writes.
struct Layer {
  girih::Tensor x, router, gate_up, down, y;                      // given, and wanted
  girih::Tensor logits, chosen, weights, offsets, rows, sources;  // routing
  girih::Tensor sorted, hidden, out;                              // tokens in order of experts
};

girih::Status encode(girih::Runtime& rt, const Layer& l) {
  if (auto s = girih::gemm(rt, {.a = l.x, .b = l.router, .c = l.logits}); !s) return s;
  if (auto s = girih::route(rt, {.logits = l.logits,
                                 .chosen = l.chosen,
                                 .weights = l.weights,
                                 .offsets = l.offsets,
                                 .rows = l.rows,
                                 .sources = l.sources,
                                 .kind = girih::RouterWeights::SoftmaxOfChosen});
      !s) {
    return s;
  }
  if (auto s = girih::permute(rt, {.x = l.x, .sources = l.sources, .y = l.sorted}); !s) return s;
  if (auto s = girih::grouped_gemm(rt, {.a = l.sorted,
                                        .b = l.gate_up,
                                        .c = l.hidden,
                                        .offsets = l.offsets,
                                        .epilogue = {.gate = girih::Gate{}}});
      !s) {
    return s;
  }
  if (auto s =
          girih::grouped_gemm(rt, {.a = l.hidden, .b = l.down, .c = l.out, .offsets = l.offsets});
      !s) {
    return s;
  }
  return girih::unpermute(rt, {.x = l.out, .rows = l.rows, .y = l.y, .weights = l.weights});
}

/// Numbers in [-1, 1) that differ from seed to seed.
std::vector<float> numbers(int count, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8) / 8388608.0F - 1;
  }
  return values;
}

/// The layer on the host, one token and expert at a time.
std::vector<double> expected(const std::vector<float>& x, const std::vector<float>& router,
                             const std::vector<float>& gate_up, const std::vector<float>& down) {
  const auto times = [](const auto& row, const std::vector<float>& w, std::size_t at, int k,
                        int n) {
    std::vector<double> result(static_cast<std::size_t>(n));
    for (int i = 0; i < k; ++i) {
      for (int j = 0; j < n; ++j) {
        result[std::size_t(j)] +=
            double(row[std::size_t(i)]) * double(w[at + std::size_t(i * n + j)]);
      }
    }
    return result;
  };
  std::vector<double> y;
  for (int t = 0; t < kTokens; ++t) {
    const std::vector<float> token(x.begin() + t * kModel, x.begin() + (t + 1) * kModel);
    const std::vector<double> logits = times(token, router, 0, kModel, kExperts);
    std::vector<int> order;
    for (int e = 0; e < kExperts; ++e) order.push_back(e);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return logits[std::size_t(a)] > logits[std::size_t(b)]; });
    double sum = 0;
    for (int s = 0; s < kChosen; ++s) sum += std::exp(logits[std::size_t(order[std::size_t(s)])]);
    std::vector<double> row(kModel);
    for (int s = 0; s < kChosen; ++s) {
      const auto e = std::size_t(order[std::size_t(s)]);
      const std::vector<double> both =
          times(token, gate_up, e * kModel * 2 * kHidden, kModel, 2 * kHidden);
      std::vector<double> hidden;
      for (std::size_t j = 0; j < kHidden; ++j) {
        hidden.push_back(both[j] / (1 + std::exp(-both[j])) * both[kHidden + j]);
      }
      const std::vector<double> out = times(hidden, down, e * kHidden * kModel, kHidden, kModel);
      for (std::size_t j = 0; j < kModel; ++j) row[j] += std::exp(logits[e]) / sum * out[j];
    }
    y.insert(y.end(), row.begin(), row.end());
  }
  return y;
}

girih::Status run() {
  auto rt = girih::Runtime::open({.backend = girih::Backend::Cpu});
  if (!rt) return rt.error();
  Layer layer;
  struct Wanted {
    girih::Tensor& tensor;
    girih::Shape shape;
    girih::DType dtype = girih::DType::F32;
  };
  for (const Wanted& wanted : {Wanted{layer.x, {kTokens, kModel}},
                               {layer.router, {kModel, kExperts}},
                               {layer.gate_up, {kExperts, kModel, 2 * kHidden}},
                               {layer.down, {kExperts, kHidden, kModel}},
                               {layer.y, {kTokens, kModel}},
                               {layer.logits, {kTokens, kExperts}},
                               {layer.chosen, {kTokens, kChosen}, girih::DType::I32},
                               {layer.weights, {kTokens, kChosen}},
                               {layer.offsets, {kExperts + 1}, girih::DType::I32},
                               {layer.rows, {kTokens, kChosen}, girih::DType::I32},
                               {layer.sources, {kPairs}, girih::DType::I32},
                               {layer.sorted, {kPairs, kModel}},
                               {layer.hidden, {kPairs, kHidden}},
                               {layer.out, {kPairs, kModel}}}) {
    auto tensor = rt->tensor(wanted.shape, wanted.dtype);
    if (!tensor) return tensor.error();
    wanted.tensor = *tensor;
  }
  const std::vector<float> router = numbers(kModel * kExperts, 1);
  const std::vector<float> gate_up = numbers(kExperts * kModel * 2 * kHidden, 2);
  const std::vector<float> down = numbers(kExperts * kHidden * kModel, 3);
  if (auto s = rt->upload(layer.router, std::span(router)); !s) return s;
  if (auto s = rt->upload(layer.gate_up, std::span(gate_up)); !s) return s;
  if (auto s = rt->upload(layer.down, std::span(down)); !s) return s;

  auto step = girih::capture(*rt, [&] { return encode(*rt, layer); });
  if (!step) return step.error();
  for (unsigned seed = 10; seed < 12; ++seed) {
    const std::vector<float> x = numbers(kTokens * kModel, seed);
    if (auto s = rt->upload(layer.x, std::span(x)); !s) return s;
    if (auto s = step->replay(); !s) return s;
    std::vector<float> y(kTokens * kModel);
    if (auto s = rt->download(layer.y, std::span(y)); !s) return s;
    std::vector<int> offsets(kExperts + 1);
    if (auto s = rt->download(layer.offsets, std::span(offsets)); !s) return s;

    const std::vector<double> want = expected(x, router, gate_up, down);
    double error = 0, largest = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      error = std::max(error, std::fabs(double(y[i]) - want[i]));
      largest = std::max(largest, std::fabs(want[i]));
    }
    std::printf("tokens of each expert:");
    for (int e = 0; e < kExperts; ++e) {
      std::printf(" %d", offsets[std::size_t(e) + 1] - offsets[std::size_t(e)]);
    }
    std::printf("; largest error %.2g of %.3g\n", error, largest);
    if (!(error < 1e-5 * largest)) {
      return girih::Error{girih::Code::DeviceFailed, "the layer differs from the host's"};
    }
  }
  return {};
}

}  // namespace

int main() {
  if (const girih::Status status = run(); !status) {
    std::fprintf(stderr, "%s: %s\n", girih::name(status.error().code).data(),
                 status.error().message.c_str());
    return 1;
  }
  return 0;
}
