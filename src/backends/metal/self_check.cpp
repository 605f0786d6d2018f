#include "backends/metal/self_check.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "backends/metal/metal4.hpp"
#include "core/error.hpp"

extern "C" {
void* object_getClass(void* object);
void* class_getInstanceMethod(void* type, void* selector);
void* class_getClassMethod(void* type, void* selector);
const char* method_getTypeEncoding(void* method);
}

namespace girih::inline v0::metal {
namespace {

/// What a calling convention tells apart: void, pointer, byte, word of 64 bits, Size, Range.
template <class T>
constexpr char kind_of() {
  if constexpr (std::is_void_v<T>) return 'v';
  if constexpr (std::is_pointer_v<T>) return 'p';
  if constexpr (std::is_same_v<T, Size>) return 'S';
  if constexpr (std::is_same_v<T, Range>) return 'R';
  if constexpr (std::is_integral_v<T>) return sizeof(T) == 1 ? 'b' : 'w';
}
template <class... T>
constexpr char kKinds[] = {kind_of<T>()..., '\0'};

struct Row {
  std::string_view owner;
  const char* selector;
  std::string_view kinds;  ///< of the result, then of the arguments
};
#define GIRIH_METAL_METHOD(space, name, owner, selector, ...) \
  {owner, selector, kKinds<__VA_ARGS__>},
constexpr Row kRows[] = {
#include "backends/metal/methods.inc"
};
#undef GIRIH_METAL_METHOD

/// Reads the run time's spelling of a method's types, "v32@0:8Q16@24": result, self, selector,
/// arguments, each followed by its place.
class Encoding {
 public:
  explicit Encoding(std::string_view text) noexcept : rest_(text) {}

  /// Kind of the next type; 0 at the end, '?' for one that no row has.
  char next() noexcept {
    skip("0123456789+-rnNoORVA");
    if (rest_.empty()) return 0;
    const char first = take();
    switch (first) {
      case 'v':
        return 'v';
      case 'B':
      case 'c':
      case 'C':
        return 'b';
      case 'q':
      case 'Q':
      case 'l':
      case 'L':
        return 'w';
      case '*':
      case '#':
      case ':':
        return 'p';
      case '@':
        skip("?");
        return 'p';
      case '^':
        (void)next();
        return 'p';
      case '{':
        return structure();
      default:
        return '?';
    }
  }

 private:
  char take() noexcept {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }
  void skip(std::string_view letters) noexcept {
    const std::size_t end = rest_.find_first_not_of(letters);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
  }
  char structure() noexcept {
    const std::size_t end = std::min(rest_.find('}'), rest_.size());
    const std::string_view inside = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    const std::string_view members = inside.substr(std::min(inside.find('='), inside.size()));
    return members == "=QQQ" ? 'S' : members == "=QQ" ? 'R' : '?';
  }

  std::string_view rest_;
};

bool agrees(const char* encoding, std::string_view kinds) noexcept {
  Encoding types(encoding);
  if (types.next() != kinds[0]) return false;
  if (types.next() != 'p' || types.next() != 'p') return false;  // self, selector
  for (const char kind : kinds.substr(1)) {
    if (types.next() != kind) return false;
  }
  return types.next() == 0;
}

Status differs(const Row& row, const char* how) noexcept {
  return error(Code::BackendUnavailable,
               "this system's Metal differs from what girih binds: {} {} {}", row.owner,
               row.selector, how);
}

/// `type` is the class; `object`, if there is one, may answer by forwarding.
Status check_row(const Row& row, id type, id object) noexcept {
  void* const selector = sel_registerName(row.selector);
  void* method = class_getInstanceMethod(type, selector);
  if (method == nullptr) method = class_getClassMethod(type, selector);
  if (method == nullptr) {
    const bool forwards = object != nullptr && object::responds_to(object, selector);
    return forwards ? Status{} : differs(row, "is not there");
  }
  const char* const encoding = method_getTypeEncoding(method);
  if (encoding == nullptr || agrees(encoding, row.kinds)) return {};
  return differs(row, "takes or gives something else");
}

Status check_object(id object, std::string_view owner) noexcept {
  if (object == nullptr) return error(Code::BackendUnavailable, "no {} could be made", owner);
  for (const Row& row : kRows) {
    if (row.owner == owner) GIRIH_TRY(check_row(row, object_getClass(object), object));
  }
  return {};
}

/// Rows of `owner`, which class `name` is or inherits from.
Status check_class(std::string_view owner, const char* name) noexcept {
  const id type = objc_lookUpClass(name);
  if (type == nullptr) return error(Code::BackendUnavailable, "this system has no {}", name);
  for (const Row& row : kRows) {
    if (row.owner == owner) GIRIH_TRY(check_row(row, type, nullptr));
  }
  return {};
}

/// A command buffer that is begun and ended, and its encoder.
Status check_commands(id device) noexcept {
  const Ref allocator(device::new_allocator(device));
  GIRIH_TRY(check_object(allocator.get(), "MTL4CommandAllocator"));
  const Ref commands(device::new_command_buffer(device));
  GIRIH_TRY(check_object(commands.get(), "MTL4CommandBuffer"));
  command_buffer::begin(commands.get(), allocator.get());
  const id encoder = command_buffer::compute_encoder(commands.get());
  Status status = [&]() -> Status {
    GIRIH_TRY(check_object(encoder, "MTL4ComputeCommandEncoder"));
    return check_object(encoder, "MTL4CommandEncoder");
  }();
  // An encoder that is not what it should be is left alone.
  if (status) encoder::end(encoder);
  if (status) command_buffer::end(commands.get());
  return status;
}

}  // namespace

Status check_binding(id device) noexcept {
  const Pool pool;
  for (const char* const owner :
       {"NSObject", "NSString", "NSURL", "NSArray", "NSError", "MTL4PipelineOptions",
        "MTLArchitecture", "MTLCompileOptions", "MTL4CompilerDescriptor", "MTL4LibraryDescriptor",
        "MTL4LibraryFunctionDescriptor", "MTL4ComputePipelineDescriptor",
        "MTLResidencySetDescriptor", "MTL4ArgumentTableDescriptor", "MTL4CommitOptions"}) {
    GIRIH_TRY(check_class(owner, owner));
  }
  GIRIH_TRY(check_class("MTL4PipelineDescriptor", "MTL4ComputePipelineDescriptor"));
  GIRIH_TRY(check_object(device, "MTLDevice"));
  const Ref buffer(device::new_buffer(device, 16, kStorageShared | kUntracked));
  GIRIH_TRY(check_object(buffer.get(), "MTLBuffer"));
  const Ref event(device::new_shared_event(device));
  GIRIH_TRY(check_object(event.get(), "MTLSharedEvent"));
  const Ref queue(device::new_queue(device));
  GIRIH_TRY(check_object(queue.get(), "MTL4CommandQueue"));
  id failure = nullptr;
  const Ref compiler(device::new_compiler(device, make("MTL4CompilerDescriptor").get(), &failure));
  GIRIH_TRY(check_object(compiler.get(), "MTL4Compiler"));
  const Ref set(
      device::new_residency_set(device, make("MTLResidencySetDescriptor").get(), &failure));
  GIRIH_TRY(check_object(set.get(), "MTLResidencySet"));
  const Ref table_descriptor = make("MTL4ArgumentTableDescriptor");
  argument_table_descriptor::set_most_buffers(table_descriptor.get(), 1);
  const Ref table(device::new_argument_table(device, table_descriptor.get(), &failure));
  GIRIH_TRY(check_object(table.get(), "MTL4ArgumentTable"));
  return check_commands(device);
}

}  // namespace girih::inline v0::metal
