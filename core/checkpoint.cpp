#include <tapeform/core/checkpoint.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <tapeform/core/error.hpp>

#include "detail/parameter_state.hpp"
#include "detail/tape_storage.hpp"

namespace tapeform::detail {

static thread_local int replays = 0;

bool replaying() noexcept { return replays > 0; }

/// A checkpointed call on its tape: what it takes to make it again, and where its gradients go.
struct Replay {
  struct Use {
    ParameterState* parameter;  // held by the tape's leaf
    std::uint32_t node;
    Array value;
  };

  std::unique_ptr<const Call> call;
  std::vector<Tensor> inputs;
  std::vector<Use> parameters;  // that the call used
  Array value;
  bool random = false, dropout_off = false;
  Rng::State rng;

  Tensor forward(Tape& outer);
  void backward(const Array& dy, Tape& outer);

  // What `record` asks of a derivative.
  struct Entry;
  static void run(Pull* pull, const Array& dy, Tape& outer);
  Pull* build(Tape& tape, const char*);
  double bytes() const { return 0; }

 private:
  struct Loan;
  ParameterState* parameter_at(const Tape& tape, std::uint32_t node) const { return tape.storage_->nodes[node].parameter; }
  std::vector<Tensor> places(Tape& outer, Tape& inner) const;
  std::optional<Tensor> passed_through(const Tensor& y, const std::vector<Tensor>& x, Tape& outer, Tape& inner) const;
  void check_parameters() const;
};

struct Replay::Entry : Pull {
  Replay replay;
};

void Replay::run(Pull* pull, const Array& dy, Tape& outer) { static_cast<Entry*>(pull)->replay.backward(dy, outer); }

Pull* Replay::build(Tape& tape, const char*) { return make_pull<Entry>(tape, Pull{nullptr, run, drop_pull<Entry>}, std::move(*this)); }

/// The inputs as leaves of the inner tape. What is one tensor outside is one inside, and a parameter is the parameter: modules may ask
/// (attention projects q, k and v at once when they are the same), and each has one gradient.
std::vector<Tensor> Replay::places(Tape& outer, Tape& inner) const {
  std::vector<Tensor> x;
  for (const Tensor& input : inputs) {
    const auto same = std::find_if(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(x.size()), [&](const Tensor& other) {
      return input.recorded() && other.recorded() && other.node() == input.node();
    });
    if (!input.recorded())
      x.push_back(input);
    else if (same != inputs.begin() + static_cast<std::ptrdiff_t>(x.size()))
      x.push_back(x[static_cast<std::size_t>(same - inputs.begin())]);
    else if (ParameterState* const parameter = parameter_at(outer, input.node()))
      x.push_back(inner.leaf(parameter));
    else
      x.push_back(inner.watch(input.value()));
  }
  return x;
}

// A call may return an input or a parameter as it is: then no node stands between, as without a checkpoint.
std::optional<Tensor> Replay::passed_through(const Tensor& y, const std::vector<Tensor>& x, Tape& outer, Tape& inner) const {
  if (!inner.holds(y, "checkpoint")) return y;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i].recorded() && x[i].node() == y.node()) return inputs[i];
  if (ParameterState* const parameter = parameter_at(inner, y.node())) return outer.leaf(parameter);
  return std::nullopt;
}

Tensor Replay::forward(Tape& outer) {
  random = outer.rng_ != nullptr;
  dropout_off = outer.dropout_off_;
  if (random) rng = outer.rng_->state();
  for (const Tensor& input : inputs) outer.holds(input, "checkpoint");
  {
    Tape inner;  // shows which parameters are used, and takes what is saved for backward away with it
    inner.rng_ = outer.rng_;
    inner.dropout_off_ = dropout_off;
    const std::vector<Tensor> x = places(outer, inner);
    const Tensor y = call->run(x.data());
    if (std::optional<Tensor> same = passed_through(y, x, outer, inner)) return *std::move(same);
    value = y.value();
    for (const Node& node : inner.storage_->nodes)
      if (node.parameter) parameters.push_back({node.parameter, 0, node.parameter->value});
  }
  for (Use& use : parameters) use.node = outer.leaf(use.parameter).node();
  const Array y = std::exchange(value, Array());
  return record("checkpoint", y, std::move(*this));
}

/// Gradients that have been added up outside continue inside, and come back however it ends.
struct Replay::Loan {
  Tape &outer, &inner;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes;  // outer, inner

  void add(std::uint32_t outside, std::uint32_t inside) {
    if (std::ranges::find(nodes, std::pair(outside, inside)) != nodes.end()) return;
    nodes.emplace_back(outside, inside);
    Array &theirs = sum(outer, outside), &ours = sum(inner, inside);
    if (&theirs != &ours) ours = std::exchange(theirs, Array());
  }
  ~Loan() {
    for (const auto& [outside, inside] : nodes) {
      Array &theirs = sum(outer, outside), &ours = sum(inner, inside);
      if (&theirs != &ours) theirs = std::exchange(ours, Array());
    }
  }
  static Array& sum(Tape& tape, std::uint32_t node) { return tape.sum_of(tape.storage_->nodes[node]); }
};

void Replay::check_parameters() const {
  for (const Use& use : parameters)
    if (!use.parameter->value.is_same(use.value))
      throw TapeError(
          fmt::format("checkpoint: a parameter of shape {} was written between forward and backward, so the call cannot be made again. "
                      "Update after backward",
                      use.value.shape().str()));
}

void Replay::backward(const Array& dy, Tape& outer) {
  check_parameters();
  const struct Count {
    Count() { ++replays; }
    ~Count() { --replays; }
  } count;
  Rng draws(rng);
  Tape inner;
  inner.rng_ = random ? &draws : nullptr;
  inner.dropout_off_ = dropout_off;
  inner.into_parameters_ = outer.into_parameters_;
  const std::vector<Tensor> x = places(outer, inner);
  const Tensor y = call->run(x.data());
  if (!inner.holds(y, "checkpoint") || y.shape() != dy.shape() || y.dtype() != dy.dtype())
    throw TapeError(
        fmt::format("checkpoint: the call gave another result when it was made again; got {} first, {} then. It may depend on "
                    "its arguments, its parameters and the tape's randomness alone",
                    dy.shape().str(), y.shape().str()));
  Loan loan{outer, inner, {}};
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i].recorded()) loan.add(inputs[i].node(), x[i].node());
  for (std::uint32_t node = 0; node < inner.nodes(); ++node)
    if (const ParameterState* const parameter = parameter_at(inner, node))
      for (const Use& use : parameters)
        if (use.parameter == parameter) loan.add(use.node, node);
  inner.sweep(y, dy, false);
}

Tensor checkpoint(const Call* call, const std::vector<Tensor>& inputs) {
  Replay replay;
  replay.call.reset(call);
  replay.inputs = inputs;
  return replay.forward(*Tape::current());
}

}  // namespace tapeform::detail
