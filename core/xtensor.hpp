#pragma once
#include <cstddef>
#include <tapeform/core/array.hpp>
#include <type_traits>
#include <utility>

// xtensor up to 0.25 has its headers in one folder, later ones in several.
#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#endif

/// Arrays in xtensor and back, without a copy. Opt-in: include it beside `tapeform.hpp` and link xtensor.
///
/// xtensor is lazy: give each step a container of its own (`xt::xarray<float> sums = xt::sum(view, {1})`), never `auto`. Its
/// `evaluation_strategy::immediate` reads uninitialised memory over views in 0.24 with g++ 12.

namespace tapeform {

namespace detail {
// The type of an xt::xarray's own shape: reducers of xtensor 0.24 go wrong with others.
inline xt::dynamic_shape<std::size_t> xtensor_shape(const Shape& shape) {
  xt::dynamic_shape<std::size_t> sizes;
  for (const Dim size : shape.sizes()) sizes.push_back(static_cast<std::size_t>(size));
  return sizes;
}
}  // namespace detail

/// The numbers of x as an xtensor expression, to read: `xt::sum(xtensor_view<float>(x), {1})`. It points into x's buffer and holds no
/// share of it: it is good as long as some array does, and shows what x held when it was made (a write to x while others share its
/// buffer goes to a copy). @throws DTypeError unless T is the array's own type.
template <class T>
auto xtensor_view(const Array& x) {
  return xt::adapt(x.data<T>(), static_cast<std::size_t>(x.numel()), xt::no_ownership(), detail::xtensor_shape(x.shape()));
}
template <class T>
auto xtensor_view(Array&& x) = delete;  // it would be gone with the end of the expression

/// Calls `f(view)` with a writable xtensor view of x alone: `xtensor_write<float>(x, [&](auto v) { xt::noalias(v) = a + b; })`. The
/// view must not outlive the call: after any copy of x, writing through it would change the copy too.
/// @throws DTypeError unless T is the array's own type.
template <class T, class F>
void xtensor_write(Array& x, F&& f) {
  f(xt::adapt(x.mutable_data<T>(), static_cast<std::size_t>(x.numel()), xt::no_ownership(), detail::xtensor_shape(x.shape())));
}

/// An xtensor container (xt::xarray, xt::xtensor, row-major, of float or double) as an Array. It is moved from: the array owns its
/// storage, and frees it with the last array that shares it. Pointers and views that others had of it must not be written to any more.
/// To keep the container, give a copy of it. @throws ShapeError for more than 8 axes; the container is then as it was.
template <class Container>
requires(!std::is_lvalue_reference_v<Container> && !std::is_const_v<Container>) Array from_xtensor(Container&& x) {
  static_assert(Container::static_layout == xt::layout_type::row_major,
                "an Array is row-major: give an xt::xarray or xt::xtensor of that layout");
  Shape shape;
  for (const auto size : x.shape()) shape.push_back(static_cast<Dim>(size));
  auto* const owner = new Container(std::move(x));
  const auto free = [](void* container) noexcept { delete static_cast<Container*>(container); };
  return Array::adopt(shape, owner->data(), owner, free);
}

}  // namespace tapeform
