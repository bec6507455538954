#include "kernels/elementwise_loops.hpp"

#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/elementwise_loops.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

// ---- two operands ----

struct AddLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct SubLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Sub(a, b);
  }
};
struct MulLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};
struct DivLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};
struct SqrtGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V y) const {
    return hn::IfThenZeroElse(hn::Eq(dy, hn::Zero(d)), hn::Div(dy, hn::Add(y, y)));
  }
};
struct LogGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V x) const {
    return hn::IfThenZeroElse(hn::Eq(dy, hn::Zero(d)), hn::Div(dy, x));
  }
};
struct TanhGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V y) const {
    return hn::Mul(dy, hn::NegMulAdd(y, y, hn::Set(d, hn::TFromD<D>{1})));
  }
};
struct ReluGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V x) const {
    return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), dy);
  }
};
struct GeluErfGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V x) const {
    return hn::Mul(dy, GeluErfDerivative(d, x));
  }
};
struct GeluTanhGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V x) const {
    return hn::Mul(dy, GeluTanhDerivative(d, x));
  }
};
struct SigmoidGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V x) const {
    return hn::Mul(dy, SigmoidDerivative(d, x));
  }
};
struct SiluGradientLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V dy, V x) const {
    return hn::Mul(dy, SiluDerivative(d, x));
  }
};

template <bool repeats, class D, class V, class T>
HWY_INLINE V Operand(D d, V repeated, const T* p) {
  if constexpr (repeats)
    return repeated;
  else
    return hn::LoadU(d, p);
}
template <bool repeats, class D, class V, class T>
HWY_INLINE V OperandPart(D d, V repeated, const T* p, Dim count) {
  if constexpr (repeats)
    return repeated;
  else
    return LoadPart(d, p, count);
}

template <bool a_repeats, bool b_repeats, class Op, class T>
HWY_INLINE void Rows(Op op, const BinaryRows<T>& all) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  for (Dim row = 0; row < all.rows; ++row) {
    const T* const a = all.a + row * all.a_stride;
    const T* const b = all.b + row * all.b_stride;
    T* const c = all.c + row * all.n;
    const auto repeated_a = a_repeats ? hn::Set(d, *a) : hn::Zero(d);
    const auto repeated_b = b_repeats ? hn::Set(d, *b) : hn::Zero(d);
    Dim i = 0;
    for (; i + lanes <= all.n; i += lanes)
      hn::StoreU(op(d, Operand<a_repeats>(d, repeated_a, a + i), Operand<b_repeats>(d, repeated_b, b + i)), d, c + i);
    if (const Dim rest = all.n - i; rest > 0) {
      const auto part_a = OperandPart<a_repeats>(d, repeated_a, a + i, rest);
      const auto part_b = OperandPart<b_repeats>(d, repeated_b, b + i, rest);
      StorePart(op(d, part_a, part_b), d, c + i, rest);
    }
  }
}

template <class Op, class T>
HWY_INLINE void BroadcastingRows(Op op, const BinaryRows<T>& rows) {
  if (rows.a_repeats)
    Rows<true, false>(op, rows);
  else if (rows.b_repeats)
    Rows<false, true>(op, rows);
  else
    Rows<false, false>(op, rows);
}

template <class T>
HWY_INLINE void BinaryLoop(Binary op, const BinaryRows<T>& rows) {
  switch (op) {
    case Binary::add:
      return BroadcastingRows(AddLanes(), rows);
    case Binary::sub:
      return BroadcastingRows(SubLanes(), rows);
    case Binary::mul:
      return BroadcastingRows(MulLanes(), rows);
    case Binary::div:
      return BroadcastingRows(DivLanes(), rows);
    case Binary::sqrt_gradient:
      return Rows<false, false>(SqrtGradientLanes(), rows);
    case Binary::log_gradient:
      return Rows<false, false>(LogGradientLanes(), rows);
    case Binary::tanh_gradient:
      return Rows<false, false>(TanhGradientLanes(), rows);
    case Binary::relu_gradient:
      return Rows<false, false>(ReluGradientLanes(), rows);
    case Binary::gelu_erf_gradient:
      return Rows<false, false>(GeluErfGradientLanes(), rows);
    case Binary::gelu_tanh_gradient:
      return Rows<false, false>(GeluTanhGradientLanes(), rows);
    case Binary::sigmoid_gradient:
      return Rows<false, false>(SigmoidGradientLanes(), rows);
    case Binary::silu_gradient:
      return Rows<false, false>(SiluGradientLanes(), rows);
  }
}

static void BinaryFloat(Binary op, const BinaryRows<float>& rows) { BinaryLoop(op, rows); }

// ---- one operand ----

struct NegLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Neg(x);
  }
};
struct SqrtLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return hn::Sqrt(x);
  }
};
struct ReluLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Relu(d, x);
  }
};
struct ExpLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Exp(d, x);
  }
};
struct LogLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Log(d, x);
  }
};
struct TanhLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Tanh(d, x);
  }
};
struct ErfLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Erf(d, x);
  }
};
struct ErfcLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Erfc(d, x);
  }
};
struct GeluErfLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return GeluErf(d, x);
  }
};
struct GeluTanhLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return GeluTanh(d, x);
  }
};
struct SigmoidLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Sigmoid(d, x);
  }
};
struct SiluLanes {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Silu(d, x);
  }
};

template <class Op, class T>
HWY_INLINE void Each(Op op, const T* x, T* y, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(d, hn::LoadU(d, x + i)), d, y + i);
  if (i < n) StorePart(op(d, LoadPart(d, x + i, n - i)), d, y + i, n - i);
}

template <class T>
HWY_INLINE void UnaryLoop(Unary op, const T* x, T* y, Dim n) {
  switch (op) {
    case Unary::neg:
      return Each(NegLanes(), x, y, n);
    case Unary::exp:
      return Each(ExpLanes(), x, y, n);
    case Unary::log:
      return Each(LogLanes(), x, y, n);
    case Unary::sqrt:
      return Each(SqrtLanes(), x, y, n);
    case Unary::tanh:
      return Each(TanhLanes(), x, y, n);
    case Unary::erf:
      return Each(ErfLanes(), x, y, n);
    case Unary::erfc:
      return Each(ErfcLanes(), x, y, n);
    case Unary::relu:
      return Each(ReluLanes(), x, y, n);
    case Unary::gelu_erf:
      return Each(GeluErfLanes(), x, y, n);
    case Unary::gelu_tanh:
      return Each(GeluTanhLanes(), x, y, n);
    case Unary::sigmoid:
      return Each(SigmoidLanes(), x, y, n);
    case Unary::silu:
      return Each(SiluLanes(), x, y, n);
  }
}

static void UnaryFloat(Unary op, const float* x, float* y, Dim n) { UnaryLoop(op, x, y, n); }

template <class T>
HWY_INLINE void AddScaledLoop(T* y, T s, const T* x, Dim n) {
  const hn::ScalableTag<T> d;
  const Dim lanes = LaneCount(d);
  const auto factor = hn::Set(d, s);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  if (const Dim rest = n - i; rest > 0) StorePart(hn::MulAdd(factor, LoadPart(d, x + i, rest), LoadPart(d, y + i, rest)), d, y + i, rest);
}

static void AddScaledFloat(float* y, float s, const float* x, Dim n) { AddScaledLoop(y, s, x, n); }

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(BinaryFloat);
HWY_EXPORT(UnaryFloat);
HWY_EXPORT(AddScaledFloat);

void run_binary(Binary op, const BinaryRows<float>& rows) { TAPEFORM_DISPATCH(BinaryFloat)(op, rows); }
void run_unary(Unary op, const float* x, float* y, Dim n) { TAPEFORM_DISPATCH(UnaryFloat)(op, x, y, n); }
void run_add_scaled(float* y, float s, const float* x, Dim n) { TAPEFORM_DISPATCH(AddScaledFloat)(y, s, x, n); }

}  // namespace tapeform::kernels
#endif  // HWY_ONCE
