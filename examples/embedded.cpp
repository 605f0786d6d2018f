// girih inside a program that has threads, memory and an allocator of its own.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <girih/girih.hpp>

namespace {

/// The program's threads, as girih sees them.
class Threads final : public girih::Executor {
 public:
  [[nodiscard]] int concurrency() const noexcept override { return 2; }
  void parallel_for(std::int64_t count, Body body, void* context) override {
    std::thread helper([=] {
      for (std::int64_t i = 1; i < count; i += 2) body(context, i);
    });
    for (std::int64_t i = 0; i < count; i += 2) body(context, i);
    helper.join();
  }
};

/// The program's allocator, here one that counts.
struct Heap {
  std::size_t bytes = 0;

  static void* allocate(void* self, std::size_t bytes, std::size_t alignment) noexcept {
    static_cast<Heap*>(self)->bytes += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void release(void* self, void* block, std::size_t bytes) noexcept {
    static_cast<Heap*>(self)->bytes -= bytes;
    std::free(block);
  }
};

int fail(const girih::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int run(Heap& heap) {
  constexpr std::int64_t kRows = 4, kColumns = 3;
  auto rt = girih::Runtime::open(
      {.backend = girih::Backend::Cpu,
       .executor = std::make_shared<Threads>(),
       .allocator = {.allocate = Heap::allocate, .release = Heap::release, .context = &heap}});
  if (!rt) return fail(rt.error());

  // Weights of the program, one header before them. The deleter holds them as long as girih needs.
  const auto weights = std::make_shared<std::vector<float>>(1 + kRows * kColumns, 2.0F);
  const auto w = rt->wrap({.handle = weights->data(),
                           .bytes = weights->size() * sizeof(float),
                           .byte_offset = sizeof(float),
                           .deleter = [weights] {}},
                          {kRows, kColumns}, girih::DType::F32);
  if (!w) return fail(w.error());
  const auto square = rt->tensor({kRows, kRows}, girih::DType::F32);
  if (!square) return fail(square.error());

  girih::GemmDesc product{.a = *w, .b = w->transposed(), .c = *square};
  const auto plan = girih::plan(*rt, product);
  if (!plan) return fail(plan.error());
  const auto workspace = rt->tensor({plan->workspace_bytes}, girih::DType::U8);
  if (!workspace) return fail(workspace.error());
  product.workspace = *workspace;

  const std::array<girih::OpDesc, 1> calls = {product};
  girih::Status status = girih::prepare(*rt, calls);
  if (status) status = girih::gemm(*rt, product);
  if (!status) return fail(status.error());

  // Calls on the cpu have finished when they return, and this is where the result lies.
  const auto memory = rt->native_handle(*square);
  if (!memory) return fail(memory.error());
  const float first = *static_cast<const float*>(memory->handle);
  std::printf("%g, with %zu bytes of the program's heap\n", static_cast<double>(first), heap.bytes);
  return first == 4.0F * kColumns ? 0 : 1;
}

}  // namespace

int main() {
  Heap heap;
  const int code = run(heap);
  return heap.bytes == 0 ? code : 1;
}
