#include "device/object.hpp"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <vector>

#include "device/control.hpp"

namespace girih::inline v0::emulator {
namespace {

struct Method {
  void* function = nullptr;
  std::string encoding;
  bool is_forgotten = false;
};

struct Runtime {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Method> methods;
  std::set<std::string> selectors;
  std::map<std::string, Object*> classes;
  std::vector<std::string> findings;
  std::deque<Object*> released;
  std::map<std::string, int> live;  ///< by class
};
Runtime& runtime() noexcept {
  static Runtime& instance = *new Runtime;  // outlives every object, and what it holds is no leak
  return instance;
}

/// A class: its name decides which methods it answers.
struct Class final : Object {
  explicit Class(std::string value) : Object("Class"), name(std::move(value)) {}
  std::string name;
};

constexpr std::size_t kKept = 4096;  ///< released objects

std::vector<Object*>& pool() noexcept {
  thread_local std::vector<Object*> objects;
  return objects;
}

void* answer_nil(Object*, Selector) {
  return nullptr;
}

}  // namespace

void Object::release() {
  const int left = references_.fetch_sub(1) - 1;
  if (left > 0) return;
  if (left < 0) return misuse(std::string("one release too many of ") + class_name);
  finish();
  count_live(class_name, -1);
  Runtime& run = runtime();
  Object* oldest = nullptr;
  {
    const std::lock_guard lock(run.mutex);
    run.released.push_back(this);
    if (run.released.size() > kKept) {
      oldest = run.released.front();
      run.released.pop_front();
    }
  }
  delete oldest;  // which may release others
}

Object* autoreleased(Object* object) {
  pool().push_back(object);
  return object;
}

void report(const std::string& kind, const std::string& text) {
  Runtime& run = runtime();
  const std::lock_guard lock(run.mutex);
  run.findings.push_back(kind + ": " + text);
}

void misuse(const std::string& text) {
  report("api", text);
}

void count_live(const char* class_name, int change) {
  Runtime& run = runtime();
  const std::lock_guard lock(run.mutex);
  int& count = run.live[class_name];
  count += change;
  if (count == 0) run.live.erase(class_name);
}

std::map<std::string, int> live_objects() {
  Runtime& run = runtime();
  const std::lock_guard lock(run.mutex);
  return run.live;
}

std::vector<std::string> take_findings() {
  Runtime& run = runtime();
  const std::lock_guard lock(run.mutex);
  return std::exchange(run.findings, {});
}

std::nullptr_t fail_with(Object** failure, const std::string& text) {
  if (failure != nullptr) *failure = autoreleased(create<Failure>(1, text));
  return nullptr;
}

std::recursive_mutex& device_mutex() noexcept {
  static std::recursive_mutex mutex;
  return mutex;
}

MethodRegistration::MethodRegistration(const char* class_name, Selector selector, void* function,
                                       std::string encoding) {
  runtime().methods[{class_name, selector}] = Method{function, std::move(encoding)};
}

namespace {

/// Null if no object of the class answers; "+Class" for the class itself.
Method* find_method(const std::string& owner, Selector selector) {
  for (const std::string& name : {owner, std::string("*")}) {
    const auto found = runtime().methods.find({name, selector});
    if (found != runtime().methods.end() && !found->second.is_forgotten) return &found->second;
  }
  return nullptr;
}

}  // namespace

void forget_method(const std::string& owner, const std::string& selector, bool is_forgotten) {
  for (const std::string& name : {owner, "+" + owner, std::string("*")}) {
    const auto found = runtime().methods.find({name, selector});
    if (found != runtime().methods.end()) found->second.is_forgotten = is_forgotten;
  }
}

std::string exchange_encoding(const std::string& owner, const std::string& selector,
                              const std::string& encoding) {
  return std::exchange(runtime().methods.at({owner, selector}).encoding, encoding);
}

}  // namespace girih::inline v0::emulator

using namespace girih::emulator;

extern "C" {

/// The function that answers; called by objc_msgSend.
void* girih_emulator_method(Object* self, Selector selector) {
  if (self == nullptr) return reinterpret_cast<void*>(&answer_nil);
  if (self->references() <= 0) {
    misuse(std::string("message ") + selector + " to a released " + self->class_name);
    return reinterpret_cast<void*>(&answer_nil);
  }
  const bool is_class = std::strcmp(self->class_name, "Class") == 0;
  const std::string owner =
      is_class ? "+" + static_cast<Class*>(self)->name : std::string(self->class_name);
  if (const Method* const method = find_method(owner, selector)) return method->function;
  misuse("unrecognized selector " + std::string(selector) + " sent to " + owner);
  return reinterpret_cast<void*>(&answer_nil);
}

void* sel_registerName(const char* name) {
  Runtime& run = runtime();
  const std::lock_guard lock(run.mutex);
  return const_cast<char*>(run.selectors.insert(name).first->c_str());
}

void* objc_lookUpClass(const char* name) {
  Runtime& run = runtime();
  const std::lock_guard lock(run.mutex);
  Object*& object = run.classes[name];
  if (object == nullptr) object = new Class(name);
  return object;
}

void* object_getClass(Object* object) {
  return objc_lookUpClass(object->class_name);
}

void* class_getInstanceMethod(Object* type, Selector selector) {
  return find_method(static_cast<Class*>(type)->name, selector);
}

void* class_getClassMethod(Object* type, Selector selector) {
  return find_method("+" + static_cast<Class*>(type)->name, selector);
}

const char* method_getTypeEncoding(Method* method) {
  return method->encoding.c_str();
}

void* objc_autoreleasePoolPush() {
  return reinterpret_cast<void*>(pool().size() + 1);
}

void objc_autoreleasePoolPop(void* mark) {
  std::vector<Object*>& objects = pool();
  while (objects.size() + 1 > reinterpret_cast<std::size_t>(mark)) {
    Object* const last = objects.back();
    objects.pop_back();
    last->release();
  }
}

void* _NSConcreteStackBlock[32];
}

// objc_msgSend(self, selector, ...): finds the function, with every argument register kept, and
// jumps to it.
#if defined(__x86_64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
  pushq %rbp
  movq %rsp, %rbp
  subq $128, %rsp
  movq %rdi, -8(%rbp)
  movq %rsi, -16(%rbp)
  movq %rdx, -24(%rbp)
  movq %rcx, -32(%rbp)
  movq %r8, -40(%rbp)
  movq %r9, -48(%rbp)
  movups %xmm0, -64(%rbp)
  movups %xmm1, -80(%rbp)
  call girih_emulator_method@PLT
  movq %rax, %r11
  movq -8(%rbp), %rdi
  movq -16(%rbp), %rsi
  movq -24(%rbp), %rdx
  movq -32(%rbp), %rcx
  movq -40(%rbp), %r8
  movq -48(%rbp), %r9
  movups -64(%rbp), %xmm0
  movups -80(%rbp), %xmm1
  leave
  jmpq *%r11
.size objc_msgSend, .-objc_msgSend
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, %function
objc_msgSend:
  stp x29, x30, [sp, #-144]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp d0, d1, [sp, #96]
  stp d2, d3, [sp, #112]
  bl girih_emulator_method
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp d0, d1, [sp, #96]
  ldp d2, d3, [sp, #112]
  ldp x29, x30, [sp], #144
  br x16
.size objc_msgSend, .-objc_msgSend
)");
#endif

namespace girih::inline v0::emulator {
namespace {

GIRIH_METHOD("*", "retain", [](Object* self, Selector) -> Object* {
  self->retain();
  return self;
});
GIRIH_METHOD("*", "release", [](Object* self, Selector) { self->release(); });
GIRIH_METHOD("*", "respondsToSelector:", [](Object* self, Selector, Selector asked) -> bool {
  return find_method(self->class_name, asked) != nullptr;
});
GIRIH_METHOD("*", "init", [](Object* self, Selector) -> Object* { return self; });

GIRIH_METHOD("+NSObject", "alloc", [](Object*, Selector) -> Object* { return nullptr; });
GIRIH_METHOD("+NSString",
             "stringWithUTF8String:", [](Object*, Selector, const char* text) -> Object* {
               return autoreleased(create<String>(text));
             });
GIRIH_METHOD("NSString", "UTF8String",
             [](String* self, Selector) -> const char* { return self->text.c_str(); });
GIRIH_METHOD("NSError", "code", [](Failure* self, Selector) -> long { return self->code; });
GIRIH_METHOD("NSError", "localizedDescription", [](Failure* self, Selector) -> Object* {
  return autoreleased(create<String>(self->text));
});

}  // namespace
}  // namespace girih::inline v0::emulator
