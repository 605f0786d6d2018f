#pragma once
#include <metal_tensor>
namespace mpp {
namespace tensor_ops {

// A number, since C++17 has no objects as template arguments.
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  int code;
  constexpr matmul2d_descriptor(int m, int n, int k = static_cast<int>(metal::dynamic_extent),
                                bool left = false, bool right = false, bool relaxed = false,
                                mode how = mode::multiply)
      : code(m * 10000 + n) {}
  constexpr operator int() const { return code; }
};
template <int kDescriptor, class Scope>
struct matmul2d {
  template <class L, class R, class E>
  metal::cooperative_tensor<L> get_left_input_cooperative_tensor() const thread;
  template <class L, class R, class E>
  metal::cooperative_tensor<R> get_right_input_cooperative_tensor() const thread;
  template <class L, class R, class E>
  metal::cooperative_tensor<E> get_destination_cooperative_tensor() const thread;
  template <class L, class R, class C>
  void run(thread L& left, thread R& right, thread C& destination) const thread;
};

}
}  // namespace mpp::tensor_ops
