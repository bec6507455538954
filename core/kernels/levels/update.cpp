#include "kernels/update.hpp"

#include <cmath>
#include <tapeform/core/parallel.hpp>
#include <type_traits>

#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/update.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

// As many numbers as `d` has lanes, as doubles.
template <class D>
HWY_INLINE hn::VFromD<D> LoadDoubles(D d, const double* p) {
  return hn::LoadU(d, p);
}
template <class D>
HWY_INLINE hn::VFromD<D> LoadDoubles(D d, const float* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), p));
}

template <class T>
HWY_INLINE double SumSquaresLoop(const T* x, Dim n, double divisor) {
  const hn::ScalableTag<double> d;
  const Dim lanes = LaneCount(d);
  const auto factor = hn::Set(d, divisor);
  auto a = hn::Zero(d), b = hn::Zero(d);  // two chains, so that one need not wait for its last sum
  Dim i = 0;
  if (divisor == 1.0) {
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      const auto xa = LoadDoubles(d, x + i), xb = LoadDoubles(d, x + i + lanes);
      a = hn::MulAdd(xa, xa, a);
      b = hn::MulAdd(xb, xb, b);
    }
  } else {
    for (; i + lanes <= n; i += lanes) {
      const auto xa = hn::Div(LoadDoubles(d, x + i), factor);
      a = hn::MulAdd(xa, xa, a);
    }
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < n; ++i) {
    const double xi = static_cast<double>(x[i]) / divisor;
    sum += xi * xi;
  }
  return sum;
}

static double SumSquaresFloat(const float* x, Dim n, double divisor) { return SumSquaresLoop(x, n, divisor); }
static double SumSquaresDouble(const double* x, Dim n, double divisor) { return SumSquaresLoop(x, n, divisor); }

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(SumSquaresFloat);
HWY_EXPORT(SumSquaresDouble);

namespace {

constexpr Dim elements_per_piece = 1 << 14;

// `piece(begin, end)` of every chunk, in order.
template <class F>
Array of_chunks(Dim n, const F& piece) {
  Array results({(n + elements_per_piece - 1) / elements_per_piece}, DType::float64);
  double* const to = results.mutable_data<double>();
  parallel_for(n, elements_per_piece, [to, &piece](Dim begin, Dim end) { to[begin / elements_per_piece] = piece(begin, end); });
  return results;
}

}  // namespace

double sum_squares(const Array& x, double divisor) {
  return dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    const auto sum = [] {
      if constexpr (std::is_same_v<T, float>)
        return TAPEFORM_DISPATCH(SumSquaresFloat);
      else
        return TAPEFORM_DISPATCH(SumSquaresDouble);
    }();
    if (x.numel() <= elements_per_piece) return sum(from, x.numel(), divisor);
    const Array parts = of_chunks(x.numel(), [=](Dim begin, Dim end) { return sum(from + begin, end - begin, divisor); });
    double total = 0;
    for (const double part : parts.values<double>()) total += part;
    return total;
  });
}

double largest_size(const Array& x) {
  return dispatch(x.dtype(), [&]<class T>(T) {
    double largest = 0;
    for (const T number : x.values<T>()) {
      if (std::isnan(number)) return static_cast<double>(number);
      largest = std::fmax(largest, std::abs(static_cast<double>(number)));
    }
    return largest;
  });
}

void scale(Array& x, double factor) {
  dispatch(x.dtype(), [&]<class T>(T) {
    T* const to = x.mutable_data<T>();
    parallel_for(x.numel(), elements_per_piece, [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) to[i] = static_cast<T>(static_cast<double>(to[i]) * factor);
    });
  });
}

void clamp(Array& x, double limit) {
  dispatch(x.dtype(), [&]<class T>(T) {
    T* const to = x.mutable_data<T>();
    const T high = static_cast<T>(limit), low = -high;
    parallel_for(x.numel(), elements_per_piece, [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) to[i] = to[i] < low ? low : to[i] > high ? high : to[i];
    });
  });
}

void blend(Array& x, const Array& y, double rate) {
  dispatch(x.dtype(), [&]<class T>(T) {
    T* const to = x.mutable_data<T>();
    const T* const from = y.data<T>();
    parallel_for(x.numel(), elements_per_piece, [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) {
        const auto xi = static_cast<double>(to[i]);
        to[i] = rate == 1 ? from[i] : static_cast<T>(xi + rate * (static_cast<double>(from[i]) - xi));
      }
    });
  });
}

}  // namespace tapeform::kernels
#endif  // HWY_ONCE
