#pragma once
#include <cstddef>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/core/tensor.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapeform {

namespace detail {

/// A call that can be made again, with its tensors given anew each time.
struct Call {
  virtual ~Call() = default;
  virtual Tensor run(const Tensor* inputs) const = 0;
};

/// Takes the call over.
Tensor checkpoint(const Call* call, const std::vector<Tensor>& inputs);

/// True while a checkpoint of this thread is called again, during backward: recorders have seen the call already.
bool replaying() noexcept;

template <class A>
inline constexpr bool is_tensor = std::is_same_v<A, Tensor> || std::is_same_v<A, Parameter>;

struct TensorPlace {
  template <class T>
  explicit TensorPlace(const T&) {}
};

template <class M, class... A>
class CallOf final : public Call {
 public:
  explicit CallOf(M& module, const A&... arguments) : module_(module), copies_(arguments...) {}
  Tensor run(const Tensor* inputs) const override { return run(inputs, std::index_sequence_for<A...>{}); }

 private:
  template <std::size_t... I>
  Tensor run(const Tensor* inputs, std::index_sequence<I...>) const {
    return module_(argument<I>(inputs)...);
  }
  template <std::size_t I>
  decltype(auto) argument(const Tensor* inputs) const {
    constexpr bool tensors[] = {is_tensor<A>...};
    if constexpr (tensors[I]) {
      std::size_t place = 0;
      for (std::size_t i = 0; i < I; ++i) place += tensors[i];
      return (inputs[place]);
    } else {
      return (std::get<I>(copies_));
    }
  }

  M& module_;
  std::tuple<std::conditional_t<is_tensor<A>, TensorPlace, A>...> copies_;
};

template <class A>
void collect(std::vector<Tensor>& inputs, const A& argument) {
  if constexpr (is_tensor<A>) inputs.push_back(argument);
}

}  // namespace detail

/// `module(arguments…)` without what it would save for backward: its tensors are kept, and the module is called again when backward comes
/// to it (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016). One more forward pass buys the memory of all that lies
/// between the arguments and the result. Without a tape it is the plain call.
///
///     for (const Layer& layer : layers) x = checkpoint(layer, x, mask);
///
/// The module (a Module, or a function or named lambda that returns a Tensor) is kept by reference: it outlives backward. Tensors and
/// Parameters among the arguments get their gradients; everything else is copied. A tensor inside of another argument or of a lambda's
/// captures is not seen: recorded, it is a TapeError. The second call draws the same random numbers from the tape's Rng, so losses and
/// gradients have the bits of the run without it: each use of a tensor or parameter is added into its one gradient in the same order.
/// Profiles see both calls, an AttentionRecorder the first.
/// @throws TapeError from backward when a parameter was written or the module did something else since, whatever the module throws.
template <class M, class... A>
Tensor checkpoint(M& module, const A&... arguments) {
  if (!Tape::current()) return module(arguments...);
  std::vector<Tensor> inputs;
  (detail::collect(inputs, arguments), ...);
  return detail::checkpoint(new detail::CallOf<M, std::decay_t<const A&>...>(module, arguments...), inputs);
}
template <class M, class... A>
Tensor checkpoint(const M&& module, const A&... arguments) = delete;  // would be gone when backward calls it: give it a name

}  // namespace tapeform
