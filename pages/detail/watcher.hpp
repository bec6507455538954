#pragma once
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::pages::detail {

/// Keeps what the module calls of this thread gave while it lives, and what had been given last when each began: in a chain of modules
/// that is what it got.
class Watcher final : nn::detail::CallObserver {
 public:
  struct Call {
    const void *self, *type;
    Tensor before, result;
  };

  Watcher() : outer_(nn::detail::call_observer()) { nn::detail::call_observer() = this; }
  ~Watcher() { nn::detail::call_observer() = outer_; }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// The call of one module; null when there was none.
  template <class M>
  const Call* find(const M& module) const {
    for (const Call& call : calls_)
      if (call.self == &module && call.type == &tapeform::detail::type_tag<M>) return &call;
    return nullptr;
  }
  /// What it gave. The module has been called.
  template <class M>
  const Tensor& result(const M& module) const {
    return find(module)->result;
  }
  /// What it got; `first` for the module with which the chain began.
  template <class M>
  const Tensor& input(const M& module, const Tensor& first) const {
    const Tensor& before = find(module)->before;
    return before ? before : first;
  }
  /// The results of all calls of modules of one type, in order.
  template <class M>
  std::vector<Tensor> results() const {
    std::vector<Tensor> found;
    for (const Call& call : calls_)
      if (call.type == &tapeform::detail::type_tag<M>) found.push_back(call.result);
    return found;
  }

 private:
  void begins(const CallFrame& frame) override {
    open_.push_back(calls_.size());
    calls_.push_back({frame.self, frame.type, last_, {}});
  }
  void ended(const CallFrame&, const Tensor& result) override {
    calls_[open_.back()].result = last_ = result;
    open_.pop_back();
  }

  std::vector<Call> calls_;
  std::vector<std::size_t> open_;
  Tensor last_;
  nn::detail::CallObserver* outer_;
};

}  // namespace tapeform::pages::detail
