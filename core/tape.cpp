#include <fmt/format.h>

#include <atomic>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parameter.hpp>
#include "detail/parameter_state.hpp"
#include <tapeform/core/tape.hpp>
#include "detail/tape_storage.hpp"

namespace tapeform {

namespace {

detail::RecordingScope*& innermost_scope() noexcept {
  static thread_local detail::RecordingScope* scope = nullptr;
  return scope;
}

// A tape may outlive the thread that opened it: its scope then belongs to no thread.
struct ThreadEnd {
  ~ThreadEnd() {
    for (detail::RecordingScope* scope = innermost_scope(); scope; scope = scope->outer) scope->innermost = nullptr;
  }
};

// Ids in blocks of a thread: no two tapes of the process share one, and most cost no atomic operation.
std::uint64_t next_tape_id() noexcept {
  static std::atomic<std::uint64_t> next_block{1};
  static thread_local std::uint64_t next = 0, end = 0;
  if (next == end) {
    next = next_block.fetch_add(1024, std::memory_order_relaxed);
    end = next + 1024;
  }
  return next++;
}

}  // namespace

detail::RecordingScope::RecordingScope(Tape* recording) noexcept
    : tape(recording), outer(innermost_scope()), innermost(&innermost_scope()) {
  static thread_local const ThreadEnd at_end;
  (void)at_end;
  innermost_scope() = this;
}

// Also right when scopes end out of order, or on another thread (which then must not run beside the one that opened it).
detail::RecordingScope::~RecordingScope() {
  for (RecordingScope** link = innermost; link && *link; link = &(*link)->outer)
    if (*link == this) {
      *link = outer;
      return;
    }
}

Tape::Tape() : storage_(detail::TapeStorage::take()), scope_(this), id_(next_tape_id()) {}
Tape::Tape(Rng& rng) : Tape() { rng_ = &rng; }
Tape::Tape(Mode) : Tape() { dropout_off_ = true; }
Tape::~Tape() { detail::TapeStorage::give_back(storage_); }

Tape* Tape::current() noexcept {
  for (const detail::RecordingScope* scope = innermost_scope(); scope; scope = scope->outer) {
    if (!scope->tape) return nullptr;
    if (!scope->tape->spent_) return scope->tape;
  }
  return nullptr;
}

Rng* Tape::dropout_rng(const char* op, double p) {
  const Tape* const tape = p > 0 ? current() : nullptr;
  if (!tape || tape->dropout_off_) return nullptr;
  if (!tape->rng_)
    throw TapeError(fmt::format(
        "{}: this tape has no randomness for p = {}. Write Tape tape(rng) to train with dropout, or Tape tape(Tape::no_dropout)", op, p));
  return tape->rng_;
}

std::size_t Tape::nodes() const noexcept { return storage_->nodes.size(); }

const char* Tape::op(std::size_t node) const {
  if (node >= nodes()) throw TapeError(fmt::format("op: there is no such node; got {} of {}", node, nodes()));
  return storage_->nodes[node].op;
}

void* Tape::allocate(std::size_t bytes, std::size_t alignment) { return storage_->allocate(bytes, alignment); }

void Tape::throw_foreign(const Tensor& x, const char* op) const {
  for (const detail::RecordingScope* scope = scope_.outer; scope; scope = scope->outer)
    if (scope->tape && scope->tape->id_ == x.tape_id())
      throw TapeError(
          fmt::format("{}: an input of shape {} belongs to an outer tape, and this inner one would lose its gradient. "
                      "Use stop_gradient(x), or watch(stop_gradient(x)) to ask this tape for its gradient",
                      op, x.shape().str()));
  throw TapeError(
      fmt::format("{}: an input of shape {} belongs to a tape that has ended or to another thread's. "
                  "Use stop_gradient(x) to carry a value from one tape to another",
                  op, x.shape().str()));
}

std::uint32_t Tape::push(const char* op, const Array& value, detail::PullList& pulls) {
  if (!value) throw ValueError(fmt::format("{}: there are no numbers to record; the array holds nothing", op));
  detail::Node& node = storage_->nodes.emplace_back();
  node.op = op;
  node.shape = value.shape();
  node.dtype = value.dtype();
  node.pulls = std::exchange(pulls.head, nullptr);
  return static_cast<std::uint32_t>(storage_->nodes.size() - 1);
}

Tensor Tape::leaf(detail::ParameterState* parameter) {
  detail::TapeStorage::Leaf& leaf = storage_->find_leaf(parameter, id_);
  if (leaf.tape != id_) {
    detail::PullList none;
    leaf.node = push("parameter", parameter->value, none);
    leaf.tape = id_;
    storage_->nodes.back().parameter = parameter;
    detail::retain(parameter);
  }
  return Tensor(parameter->value, id_, leaf.node);
}

Tensor Tape::watch(const Tensor& x) {
  if (spent_) throw TapeError("watch: this tape is spent, backward has run. Watch before it, on a new tape");
  if (holds(x, "watch")) {
    storage_->nodes[x.node()].watched = true;
    return x;
  }
  detail::PullList none;
  const std::uint32_t node = push("watch", x.value(), none);
  storage_->nodes[node].watched = true;
  return Tensor(x.value(), id_, node);
}

const Array& Tape::grad(const Tensor& x) const {
  if (x.tape_id() != id_ || !storage_->nodes[x.node()].watched)
    throw TapeError(
        fmt::format("grad: this tensor of shape {} was not watched by this tape. Call watch(x) before backward", x.shape().str()));
  if (!spent_) throw TapeError("grad: backward has not run yet, so there is no gradient to read. Call backward(loss) first");
  const detail::Node& node = storage_->nodes[x.node()];
  return node.parameter ? node.parameter->grad : node.grad;
}

// Where a node's gradient is added up: a parameter that was frozen since its leaf was made gets none.
Array& Tape::sum_of(detail::Node& n) const {
  return n.parameter && n.parameter->trainable && into_parameters_ ? n.parameter->grad : n.grad;
}

// A parameter's grad() is open to everybody, so what it holds is checked.
Array& Tape::destination(std::uint32_t node) {
  detail::Node& n = storage_->nodes[node];
  Array& sum = sum_of(n);
  if (sum && (sum.shape() != n.shape || sum.dtype() != n.dtype))
    throw ShapeError(fmt::format(
        "{}: the gradient that a parameter has must be like the parameter; got gradient {} {}, parameter {} {}. Call zero_grad() "
        "first",
        running_, sum.shape().str(), name(sum.dtype()), n.shape.str(), name(n.dtype)));
  return sum;
}

void Tape::check_gradient(const Array& gradient, const detail::Node& n) const {
  if (!gradient) throw ValueError(fmt::format("{}: its derivative returned nothing for an input that needs a gradient", running_));
  if (gradient.shape() != n.shape)
    throw ShapeError(
        fmt::format("{}: its derivative must have the input's shape; got {} for {}", running_, gradient.shape().str(), n.shape.str()));
  if (gradient.dtype() != n.dtype)
    throw DTypeError(
        fmt::format("{}: its derivative must have the input's dtype; got {} for {}", running_, name(gradient.dtype()), name(n.dtype)));
}

void Tape::add(std::uint32_t node, Array gradient) {
  check_gradient(gradient, storage_->nodes[node]);
  Array& sum = destination(node);
  if (sum)
    sum += gradient;
  else
    sum = std::move(gradient);
}

Array& Tape::accumulator(std::uint32_t node) {
  const detail::Node& n = storage_->nodes[node];
  Array& sum = destination(node);
  if (!sum) sum = Array::zeros(n.shape, n.dtype);
  return sum;
}

// A derivative that adds has the sum itself in its hands.
void Tape::check_added(std::uint32_t node) {
  detail::Node& n = storage_->nodes[node];
  check_gradient(sum_of(n), n);
}

void Tape::check_can_sweep(const Tensor& y, const char* caller) const {
  if (spent_)
    throw TapeError(
        fmt::format("{}: this tape is spent, its saved values are gone. Add several losses up before one backward, or use gradients(…, "
                    "{{.keep = true}})",
                    caller));
  if (!holds(y, caller))
    throw TapeError(fmt::format(
        "{}: the loss depends on no parameter and no watched tensor of this tape. Compute it while the tape records, without stop_gradient",
        caller));
}

void Tape::check_seed(const Tensor& y, const Array& dy, const char* caller) const {
  if (dy.shape() != y.shape())
    throw ShapeError(fmt::format("{}: the gradient must have y's shape; got y {}, dy {}", caller, y.shape().str(), dy.shape().str()));
  if (dy.dtype() != y.dtype())
    throw DTypeError(
        fmt::format("{}: the gradient must have y's dtype; got y {}, dy {}. Use cast()", caller, name(y.dtype()), name(dy.dtype())));
}

static Array ones_for(const Tensor& y, const char* caller) {
  if (y.numel() != 1)
    throw TapeError(
        fmt::format("{}: the loss must be one number; got {}. Reduce it with sum() or mean(), or give its gradient: {}(y, …, dy)", caller,
                    y.shape().str(), caller));
  return Array::ones(y.shape(), y.dtype());
}

void Tape::backward(const Tensor& loss) {
  check_can_sweep(loss, "backward");
  sweep(loss, ones_for(loss, "backward"), false);
}

void Tape::backward(const Tensor& y, const Array& dy) {
  check_can_sweep(y, "backward");
  check_seed(y, dy, "backward");
  sweep(y, dy, false);
}

// While a sweep runs the tape counts as spent, so that no derivative can start another one or add nodes. However it ends, captures go
// and the tape stays spent, unless it was to be kept and nothing was thrown.
struct Tape::Sweep {
  Tape& tape;
  bool kept = false;
  explicit Sweep(Tape& swept) noexcept : tape(swept) { tape.spent_ = true; }
  ~Sweep() {
    tape.running_ = "";
    tape.spent_ = !kept;
    if (kept) return;
    for (detail::Node& node : tape.storage_->nodes) tape.storage_->drop_pulls(node);
  }
};

void Tape::sweep(const Tensor& y, const Array& dy, bool keep_captures) {
  const detail::RecordingScope nothing_records(nullptr);  // a derivative is written on Arrays; whatever it calls must not record
  Sweep end(*this);
  running_ = "backward";
  add(y.node(), dy);
  auto& nodes = storage_->nodes;
  for (std::size_t i = y.node() + std::size_t{1}; i-- > 0;) {
    detail::Node& node = nodes[i];
    if (node.pulls && node.grad) {
      running_ = node.op;
      const Array gradient = node.watched ? node.grad : std::move(node.grad);
      if (!node.watched) node.grad = Array();
      for (detail::Pull* pull = node.pulls; pull; pull = pull->next) pull->run(pull, gradient, *this);
      if (detail::profiling()) detail::profile_backward(node.op, id_, static_cast<std::uint32_t>(i));
    }
    if (!keep_captures) storage_->drop_pulls(node);
  }
  end.kept = keep_captures;
}

std::vector<Array> Tape::gradients(const Tensor& y, std::initializer_list<Tensor> x, GradientsOptions options) {
  check_can_sweep(y, "gradients");
  return gradients(y, x, ones_for(y, "gradients"), options);
}

std::vector<Array> Tape::gradients(const Tensor& y, std::initializer_list<Tensor> x, const Array& seed, GradientsOptions options) {
  check_can_sweep(y, "gradients");
  check_seed(y, seed, "gradients");
  auto& nodes = storage_->nodes;
  std::vector<bool> was_watched;
  for (const Tensor& input : x) {
    if (!holds(input, "gradients"))
      throw TapeError(
          fmt::format("gradients: an x of shape {} has no place on this tape. Use the tensor that watch(x) returned", input.shape().str()));
    was_watched.push_back(nodes[input.node()].watched);
  }
  for (const Tensor& input : x) nodes[input.node()].watched = true;
  struct Restore {
    Tape& tape;
    ~Restore() { tape.into_parameters_ = true; }
  } const restore{*this};
  into_parameters_ = false;
  sweep(y, seed, options.keep);
  std::vector<Array> result;
  for (const Tensor& input : x) result.push_back(nodes[input.node()].grad);
  for (detail::Node& node : nodes) node.grad = Array();
  std::size_t i = 0;
  for (const Tensor& input : x) nodes[input.node()].watched = was_watched[i++];
  return result;
}

}  // namespace tapeform
