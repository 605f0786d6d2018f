#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "runtime/state.hpp"

namespace girih::inline v0 {

using detail::Entry;
using detail::GraphState;
using detail::Recording;
using detail::RuntimeAccess;
using detail::RuntimeState;

namespace {

/// An exception's text as part of a one-sentence message; empty if there is no memory for it.
std::string one_line(const char* text) noexcept try {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
} catch (...) {
  return {};
}

/// Runs the caller's function; what it throws becomes an error.
Status run_body(const std::function<Status()>& body) noexcept {
  if (!body) return error(Code::CaptureMisuse, "capture: the function is empty");
  try {
    return body();
  } catch (const std::exception& thrown) {
    return error(Code::CaptureMisuse, "capture: the function threw: {}", one_line(thrown.what()));
  } catch (...) {
    return error(Code::CaptureMisuse, "capture: the function threw");
  }
}

}  // namespace

Graph::Graph(std::unique_ptr<GraphState> state) noexcept : state_(std::move(state)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

std::size_t Graph::size() const noexcept {
  return state_ ? state_->recording.calls.size() : 0;
}

Status Graph::replay() noexcept {
  if (!state_) return error(Code::MovedFrom, "the graph was moved from");
  RuntimeState& runtime = *state_->runtime;
  const Result<Entry> entry = Entry::enter_uncaptured(&runtime, "replay");
  if (!entry) return entry.error();
  return runtime.replay(*state_->executable, state_->recording.calls.size());
}

Result<Graph> capture(Runtime& runtime, const std::function<Status()>& body) noexcept {
  // Held here: the body may move or replace the handle.
  const std::shared_ptr<RuntimeState> held = RuntimeAccess::shared(runtime);
  {
    const Result<Entry> entry = Entry::enter(held.get());
    if (!entry) return entry.error();
    GIRIH_TRY(held->begin_capture());
  }
  RuntimeState& state = *held;
  // The body enters the runtime call by call; other threads are kept out by the capture itself.
  const Status outcome = run_body(body);
  const Entry entry = Entry::acquire(state);
  Recording recording = state.end_capture();
  if (!outcome) return outcome.error();
  try {
    auto graph = std::make_unique<GraphState>();
    graph->runtime = held;
    graph->recording = std::move(recording);
    Result<std::unique_ptr<Executable>> executable =
        state.device().instantiate(graph->recording.calls);
    if (!executable) return executable.error();
    graph->executable = *std::move(executable);
    return RuntimeAccess::make(std::move(graph));
  } catch (...) {
    return error(Code::OutOfMemory, "no host memory for a graph");
  }
}

}  // namespace girih::inline v0
