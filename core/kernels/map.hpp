#pragma once
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/parallel.hpp>

// Functions of one number or several, element by element, written where they are used: for what is not hot. The arrays are of one shape
// and dtype. float32 is computed in double and rounded once, so a function of libm is right to its last bit.

namespace tapeform::kernels {

inline constexpr Dim grain_of_map = 1 << 12;

/// f(x…) for every element of the arrays x….
template <class F, class... Arrays>
Array map(const F& f, const Array& first, const Arrays&... others) {
  Array y(first.shape(), first.dtype());
  dispatch(first.dtype(), [&]<class T>(T) {
    const auto run = [&f, to = y.mutable_data<T>(), n = y.numel()](const auto*... from) {
      parallel_for(n, grain_of_map, [&](Dim begin, Dim end) {
        for (Dim i = begin; i < end; ++i) to[i] = static_cast<T>(f(static_cast<double>(from[i])...));
      });
    };
    run(first.data<T>(), others.template data<T>()...);
  });
  return y;
}

/// 1 where the predicate f(x…) holds, 0 elsewhere.
template <class F, class... Arrays>
Ids test(const F& f, const Array& first, const Arrays&... others) {
  Ids y = Ids::full(first.shape(), 0);
  dispatch(first.dtype(), [&]<class T>(T) {
    const auto run = [&](const auto*... from) {
      y.write([&](std::span<std::int64_t> to) {
        parallel_for(y.numel(), grain_of_map, [&](Dim begin, Dim end) {
          for (Dim i = begin; i < end; ++i) to[static_cast<std::size_t>(i)] = f(static_cast<double>(from[i])...);
        });
      });
    };
    run(first.data<T>(), others.template data<T>()...);
  });
  return y;
}

/// The number as the dtype holds it: what a comparison of an array's elements with a number compares with. Through memory, because g++ 12
/// at -O2 drops the rounding where two such conversions stand side by side.
inline double rounded(double number, DType dtype) { return Array::full({}, number, dtype).item(); }

}  // namespace tapeform::kernels
