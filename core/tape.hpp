#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <tapeform/core/array.hpp>
#include <tapeform/core/profile.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tensor.hpp>
#include <type_traits>
#include <vector>

namespace tapeform {

class Tape;

namespace detail {

struct Node;
struct ParameterState;
struct Replay;
struct TapeStorage;

/// One recorded derivative, in the tape's arena: `run` computes and delivers gradients, `drop` destroys what it captured.
struct Pull {
  Pull* next;
  void (*run)(Pull*, const Array& dy, Tape&);
  void (*drop)(Pull*) noexcept;
};

/// The derivatives of one op in the order in which they were given; drops them unless a tape takes them.
struct PullList {
  Pull* head = nullptr;
  Pull** tail = &head;
  PullList() = default;
  PullList(const PullList&) = delete;
  ~PullList();
  void append(Pull* pull) noexcept {
    if (!pull) return;
    *tail = pull;
    tail = &pull->next;
  }
};

/// A scope on this thread in which a tape records, or nothing does (`tape` null).
struct RecordingScope {
  Tape* tape;
  RecordingScope* outer;
  RecordingScope** innermost;  // of the thread that opened it; null when that thread has ended
  explicit RecordingScope(Tape* recording) noexcept;
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;
};

}  // namespace detail

struct GradientsOptions {
  bool keep = false;  ///< leave the tape as it is, so that it can be asked again (the rows of a Jacobian)
};

/// Records what happens to tensors on this thread, from its construction until `backward` or the end of its scope: one flat vector
/// of nodes in call order. `backward` is one loop over it in reverse, whatever the depth.
///
/// After `backward` the tape is spent: it records nothing more, dropout is off, and what was captured for derivatives has been let
/// go. Tapes nest: the innermost that is not spent records. An exception in forward leaves the tape usable; one in backward leaves
/// it spent, with the gradients that had been added until then.
class Tape {
 public:
  enum Mode { no_dropout };

  Tape();                   ///< without randomness: a dropout with p > 0 is a TapeError
  explicit Tape(Rng& rng);  ///< training: dropout draws from `rng`, which must outlive the tape
  explicit Tape(Mode);      ///< `Tape tape(Tape::no_dropout)`: records, with dropout off
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Adds d(loss)/d(p) to `grad()` of every parameter that the loss used, and makes `grad(x)` readable for every watched x.
  /// @throws TapeError when the tape is spent, when the loss is not one number, when it depends on no parameter and no watched tensor.
  void backward(const Tensor& loss);
  /// The same for a y of any shape, from its gradient dy. @throws TapeError as above, ShapeError, DTypeError when dy does not fit y.
  void backward(const Tensor& y, const Array& dy);

  /// d(y)/d(x) for each x, written to no `grad()`; an Array that holds nothing where y does not depend on x. Spends the tape unless
  /// asked to keep it. `seed` (of y's shape) weights y's elements; y of one element needs none.
  /// @throws TapeError, ShapeError, DTypeError as `backward`.
  std::vector<Array> gradients(const Tensor& y, std::initializer_list<Tensor> x, GradientsOptions options = {});
  std::vector<Array> gradients(const Tensor& y, std::initializer_list<Tensor> x, const Array& seed, GradientsOptions options = {});

  /// A tensor whose gradient `grad` will tell: a constant becomes a leaf of this tape, a recorded tensor is marked.
  /// @throws TapeError when the tape is spent, or x is another tape's.
  Tensor watch(const Tensor& x);
  /// The gradient of a watched tensor after backward; holds nothing when the loss did not depend on it.
  /// @throws TapeError when x was not watched, or before backward.
  const Array& grad(const Tensor& x) const;

  std::size_t nodes() const noexcept;
  const char* op(std::size_t node) const;  ///< what made a node, `parameter` and `watch` among them. @throws TapeError
  bool spent() const noexcept { return spent_; }
  std::uint64_t id() const noexcept { return id_; }

  /// The tape that records on this thread: the innermost that is not spent; null when there is none or a NoTape stands before it.
  static Tape* current() noexcept;

  // ---- for ops ----

  /// Where dropout of probability p takes its numbers; null when it is off (no tape, `Tape::no_dropout`, p = 0).
  /// @throws TapeError when the current tape has no randomness and p > 0.
  static Rng* dropout_rng(const char* op, double p);

  /// True when x has a place on this tape. @throws TapeError when its place is on another one.
  bool holds(const Tensor& x, const char* op) const {
    if (x.tape_id() == id_) return true;
    if (x.tape_id() == 0) return false;
    throw_foreign(x, op);
  }
  std::uint32_t push(const char* op, const Array& value, detail::PullList& pulls);
  Tensor leaf(detail::ParameterState* parameter);
  void* allocate(std::size_t bytes, std::size_t alignment);
  void add(std::uint32_t node, Array gradient);
  Array& accumulator(std::uint32_t node);
  void check_added(std::uint32_t node);

 private:
  friend struct detail::RecordingScope;
  friend struct detail::Replay;
  struct Sweep;

  [[noreturn]] void throw_foreign(const Tensor& x, const char* op) const;
  void check_seed(const Tensor& y, const Array& dy, const char* caller) const;
  void check_can_sweep(const Tensor& y, const char* caller) const;
  void sweep(const Tensor& y, const Array& dy, bool keep_captures);
  Array& destination(std::uint32_t node);
  Array& sum_of(detail::Node& node) const;
  void check_gradient(const Array& gradient, const detail::Node& node) const;

  detail::TapeStorage* storage_ = nullptr;
  detail::RecordingScope scope_;
  std::uint64_t id_ = 0;
  Rng* rng_ = nullptr;
  bool dropout_off_ = false;
  bool spent_ = false;
  bool into_parameters_ = true;  // backward writes grad(); gradients() keeps to the nodes
  const char* running_ = "";     // the op whose derivative runs, for errors
};

/// Records nothing inside its scope, and dropout is off there.
class NoTape {
 public:
  NoTape() noexcept : scope_(nullptr) {}

 private:
  detail::RecordingScope scope_;
};

// ---- record and wrt: how an op is put on the tape -----------------------------------------------------------------------------

template <std::size_t N>
using Needs = std::array<bool, N>;  ///< which gradients are asked for
template <std::size_t N>
using Grads = std::array<Array, N>;  ///< the gradients, in the order of the inputs; those not asked for may hold nothing

namespace detail {

template <class P, class... Args>
P* make_pull(Tape& tape, Args&&... args) {
  static_assert(std::is_nothrow_move_constructible_v<P>, "what a derivative captures must be nothrow-movable: the tape's arena holds it");
  return new (tape.allocate(sizeof(P), alignof(P))) P{std::forward<Args>(args)...};
}

template <class P>
void drop_pull(Pull* pull) noexcept {
  static_cast<P*>(pull)->~P();
}

inline double bytes_of(const Array& x) { return x ? static_cast<double>(x.numel()) * static_cast<double>(size_of(x.dtype())) : 0.0; }

template <class F>
concept ReturnsGradient = std::is_invocable_r_v<Array, F&, const Array&>;
template <class F>
concept AddsGradient = std::is_invocable_v<F&, const Array&, Array&>;
template <class F, std::size_t N>
concept ReturnsGradients = std::is_invocable_r_v<Grads<N>, F&, const Array&, const Needs<N>&>;
template <class V>
concept IsArray = std::same_as<std::remove_cvref_t<V>, Array>;

template <class F>
struct Single {
  const Tensor& input;
  F derivative;

  struct Entry : Pull {
    std::uint32_t to;
    F derivative;
  };
  static void run(Pull* pull, const Array& dy, Tape& tape) {
    Entry& entry = *static_cast<Entry*>(pull);
    if constexpr (ReturnsGradient<F>) {
      tape.add(entry.to, entry.derivative(dy));
    } else {
      entry.derivative(dy, tape.accumulator(entry.to));
      tape.check_added(entry.to);
    }
  }
  Pull* build(Tape& tape, const char* op) {
    if (!tape.holds(input, op)) return nullptr;
    return make_pull<Entry>(tape, Pull{nullptr, run, drop_pull<Entry>}, input.node(), std::move(derivative));
  }
  double bytes() const { return bytes_of(input.value()); }
};

template <std::size_t N, class F>
struct Sharing {
  std::array<const Tensor*, N> inputs;
  F derivative;

  struct Entry : Pull {
    std::array<std::uint32_t, N> to;
    Needs<N> need;
    F derivative;
  };
  static void run(Pull* pull, const Array& dy, Tape& tape) {
    Entry& entry = *static_cast<Entry*>(pull);
    Grads<N> gradients = entry.derivative(dy, entry.need);
    for (std::size_t i = 0; i < N; ++i)
      if (entry.need[i]) tape.add(entry.to[i], std::move(gradients[i]));
  }
  Pull* build(Tape& tape, const char* op) {
    std::array<std::uint32_t, N> to{};
    Needs<N> need{};
    bool any = false;
    for (std::size_t i = 0; i < N; ++i) {
      need[i] = tape.holds(*inputs[i], op);
      to[i] = inputs[i]->node();
      any = any || need[i];
    }
    if (!any) return nullptr;
    return make_pull<Entry>(tape, Pull{nullptr, run, drop_pull<Entry>}, to, need, std::move(derivative));
  }
  double bytes() const {
    double sum = 0;
    for (const Tensor* input : inputs) sum += bytes_of(input->value());
    return sum;
  }
};

struct Input {
  const Tensor* tensor;
  Input(const Tensor& x) : tensor(&x) {}
};

}  // namespace detail

/// The derivative with respect to x: `[…](const Array& dy) { return dx; }`. Stored only when x needs a gradient.
template <detail::ReturnsGradient F>
detail::Single<F> wrt(const Tensor& x, F derivative) {
  return {x, std::move(derivative)};
}

/// The derivative with respect to x, added into the gradient that is there (zeros the first time):
/// `[…](const Array& dy, Array& dx) { … }`. For sparse gradients, and for those that accumulate in a product.
template <detail::AddsGradient F>
detail::Single<F> wrt(const Tensor& x, F derivative) {
  return {x, std::move(derivative)};
}

/// Derivatives that share work: `wrt({x, w, b}, […](const Array& dy, const Needs<3>& need) -> Grads<3> { return {dx, dw, db}; })`.
/// An input given as a tensor that holds nothing is never needed.
template <std::size_t N, detail::ReturnsGradients<N> F>
detail::Sharing<N, F> wrt(const detail::Input (&inputs)[N], F derivative) {
  detail::Sharing<N, F> sharing{{}, std::move(derivative)};
  for (std::size_t i = 0; i < N; ++i) sharing.inputs[i] = inputs[i].tensor;
  return sharing;
}

/// The result of an op: `value` with its place on the current tape and its derivatives, or a constant when nothing records or no
/// input needs a gradient. `op` is a literal that names it in errors and profiles. The capture list of a derivative is the list of
/// what is saved for backward, so captures are explicit.
/// @throws TapeError when an input belongs to another tape.
template <detail::IsArray V, class... W>
Tensor record(const char* op, V&& value, W&&... derivatives) {  // by reference: a by-value parameter may be built before captures are
  Tape* const tape = Tape::current();
  const double bytes = detail::profiling() ? (detail::bytes_of(value) + ... + derivatives.bytes()) : 0.0;
  std::uint64_t id = 0;
  std::uint32_t node = 0;
  if (tape) {
    detail::PullList pulls;
    (pulls.append(derivatives.build(*tape, op)), ...);
    if (pulls.head) {
      node = tape->push(op, value, pulls);
      id = tape->id();
    }
  }
  if (detail::profiling()) detail::profile_forward(op, value, bytes, id, node);
  return Tensor(std::forward<V>(value), id, node);
}

}  // namespace tapeform
