#pragma once
#include "message.hpp"
#include <string>
#include <tapeform/core/tape.hpp>
#include <utility>

/// What the tests of core and optim share: errors in words, and two ops that need nothing but the tape.
namespace {

[[maybe_unused]] tapeform::Array map(const tapeform::Array& x, double factor) {
  tapeform::Array y(x.shape(), x.dtype());
  tapeform::dispatch(x.dtype(), [&]<class T>(T) {
    T* const to = y.mutable_data<T>();
    const T* const from = x.data<T>();
    for (tapeform::Dim i = 0; i < x.numel(); ++i) to[i] = static_cast<T>(factor) * from[i];
  });
  return y;
}

[[maybe_unused]] tapeform::Tensor scaled(const tapeform::Tensor& x, double factor) {
  return record("scaled", map(x.value(), factor), tapeform::wrt(x, [factor](const tapeform::Array& dy) { return map(dy, factor); }));
}

[[maybe_unused]] tapeform::Tensor plus(const tapeform::Tensor& a, const tapeform::Tensor& b) {
  using namespace tapeform;
  Array sum = a.value();
  sum += b.value();
  return record("plus", std::move(sum), wrt({a, b}, [](const Array& dy, const Needs<2>&) -> Grads<2> { return {dy, dy}; }));
}

}  // namespace
