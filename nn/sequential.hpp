#pragma once
#include <cstddef>
#include <tapeform/nn/module.hpp>
#include <tuple>
#include <utility>

namespace tapeform::nn {

/// Layers one after the other, each given what the one before returned; parameters are named by place, `0.weight`, `2.weight`, …, as in
/// torch's nn.Sequential. A layer is a module, or a function without parameters:
///
///     nn::Sequential mlp{nn::Linear(64, 256, rng), [](const Tensor& x) { return relu(x); }, nn::Linear(256, 10, rng)};
///
/// Braces, unlike parentheses, build the layers from left to right, so that they draw from `rng` in this order. Layers of one type whose
/// number is known at run time stand in a std::vector instead.
template <class... Layers>
struct Sequential : Module<Sequential<Layers...>> {
  static_assert(sizeof...(Layers) > 0, "Sequential: at least one layer");

  std::tuple<Layers...> layers;

  explicit Sequential(Layers... given) : layers(std::move(given)...) {}

  /// x through all layers. @throws what the layers throw.
  Tensor forward(const Tensor& x) const { return from<0>(x); }

  /// The layer at place I, to read or to train apart.
  template <std::size_t I>
  auto& get() noexcept {
    return std::get<I>(layers);
  }
  template <std::size_t I>
  const auto& get() const noexcept {
    return std::get<I>(layers);
  }

  void visit(Fields& field) { visit_from<0>(field); }

 private:
  template <std::size_t I>
  Tensor from(const Tensor& x) const {
    if constexpr (I == sizeof...(Layers))
      return x;
    else
      return from<I + 1>(std::get<I>(layers)(x));
  }
  template <std::size_t I>
  void visit_from(Fields& field) {
    if constexpr (I < sizeof...(Layers)) {
      if constexpr (Visitable<std::tuple_element_t<I, std::tuple<Layers...>>>)
        field(tapeform::detail::index_name(I).c_str(), std::get<I>(layers));
      visit_from<I + 1>(field);
    }
  }
};

}  // namespace tapeform::nn
