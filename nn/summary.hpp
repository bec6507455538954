#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/profile.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::nn {

/// One call of a module, with all that ran inside it.
struct CallSummary {
  std::string path;  ///< empty for the model itself
  std::string type;  ///< `MultiHeadAttention`
  Shape output;
  Dim parameters = 0;                 ///< of the module, each once
  std::int64_t activation_bytes = 0;  ///< what the call left in memory: its result, and what backward will need
  double flop = 0;                    ///< multiplications and additions of matrix products and attention, forward
};

namespace detail {
struct SummaryFields final : PathFields {
  struct Row {
    std::string name, shape;
    Dim count = 0;  // 0 for a second name
    const void* id = nullptr;
  };
  std::vector<Row> rows;
  Dim total = 0, bytes = 0, frozen = 0;
  void on_parameter(const char* name, Parameter& parameter) override;
  void on_buffer(const char* name, Array& buffer) override;
  void on_alias(const char* name, Parameter& parameter) override;
  std::string text(const std::string& type) const;
};

/// Watches the module calls of this thread.
class CallTrace final : CallObserver {
 public:
  CallTrace();
  ~CallTrace();
  CallTrace(const CallTrace&) = delete;
  CallTrace& operator=(const CallTrace&) = delete;

  struct Call {
    CallSummary summary;
    const void *self, *type;
    std::int64_t live_before;
    double flop_before;
  };
  std::vector<Call> calls;  // in the order in which they began

 private:
  void begins(const CallFrame& call) override;
  void ended(const CallFrame& call, const Tensor& result) override;
  double flop() const;

  Profile profile_;
  std::vector<std::size_t> open_;
  CallObserver* outer_;
};

/// Counts the parameters of one module of a model.
struct ModuleCounter final : Fields {
  ModuleCounter(const void* wanted, const void* wanted_type) : self(wanted), type(wanted_type) {}
  const void *self, *type;
  Dim count = 0;
  void on_parameter(const char* name, Parameter& parameter) override;
  bool enter(const char* name, const void* s, const void* t) override;
  void leave() override;

 private:
  int depth_ = 0;  // below the wanted module; 0: outside
  std::vector<ParameterRef> counted_;
};

std::string text(const std::vector<CallSummary>& calls);
}  // namespace detail

/// A model as text: its type, one line for every parameter (path, shape, count), what is tied to what, and the total.
template <class M>
std::string summary(const M& model) {
  detail::SummaryFields fields;
  walk(model, fields);
  return fields.text(detail::type_name<M>());
}

/// Runs the model once, recording as in training but without dropout, and tells of every module call in the order in which they began, the
/// model's own first. Bytes are counted in the process's buffers, in the size classes that these are rounded up to.
/// @throws ValueError when a Profile of this thread is running, and what the model throws.
template <class M, class... Inputs>
std::vector<CallSummary> trace_calls(const M& model, const Inputs&... inputs) {
  detail::CallTrace trace;
  {
    Tape tape(Tape::no_dropout);
    model(inputs...);
  }
  std::vector<CallSummary> summaries;
  for (detail::CallTrace::Call& call : trace.calls) {
    detail::ModuleCounter counter(call.self, call.type);
    counter("", const_cast<M&>(model));
    call.summary.parameters = counter.count;
    summaries.push_back(std::move(call.summary));
  }
  return summaries;
}

/// `trace_calls` as a table: path, type, output shape, parameters, activation bytes and FLOP of every module call.
template <class M, class Input, class... Inputs>
std::string summary(const M& model, const Input& input, const Inputs&... inputs) {
  return detail::text(trace_calls(model, input, inputs...));
}

}  // namespace tapeform::nn
