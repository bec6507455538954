#include "kernels/update_rules.hpp"

#include <tapeform/core/parallel.hpp>
#include <type_traits>

#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/update_rules.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

// Where a rule reads and writes: the vector at element i …
template <class D, class V = hn::VFromD<D>, class T = hn::TFromD<D>>
struct WholeVector {
  D d;
  Dim i;
  HWY_INLINE V Load(const T* p) const { return hn::LoadU(d, p + i); }
  HWY_INLINE void Store(V v, T* p) const { hn::StoreU(v, d, p + i); }
};

// … or the last few numbers, beside ones: no root or quotient of them is exceptional.
template <class D, class V = hn::VFromD<D>, class T = hn::TFromD<D>>
struct LastVector {
  D d;
  Dim i, count;
  HWY_INLINE V Load(const T* p) const { return LoadPart(d, p + i, count, T{1}); }
  HWY_INLINE void Store(V v, T* p) const { StorePart(v, d, p + i, count); }
};

template <class T, class Rule>
HWY_INLINE void OfVectors(Dim n, const Rule& rule) {
  const hn::ScalableTag<T> d;
  using D = hn::ScalableTag<T>;
  const Dim lanes = LaneCount(d);
  Dim i = 0;
  for (; i + lanes <= n; i += lanes) rule(WholeVector<D>{d, i});
  if (i < n) rule(LastVector<D>{d, i, n - i});
}

template <class D>
HWY_INLINE hn::VFromD<D> Constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

template <class T, bool with_buffer>
struct SgdRule {
  UpdatePiece<T> x;
  SgdFactors f;
  template <class Place>
  HWY_INLINE void operator()(const Place& at) const {
    const auto d = at.d;
    const auto w = at.Load(x.w);
    auto u = hn::MulAdd(w, Constant(d, f.l2), at.Load(x.g));
    if constexpr (with_buffer) {
      const auto b = hn::MulAdd(at.Load(x.a), Constant(d, f.keep), hn::Mul(u, Constant(d, f.rate)));
      at.Store(b, x.a);
      u = hn::MulAdd(u, Constant(d, f.of_gradient), hn::Mul(b, Constant(d, f.of_buffer)));
    }
    at.Store(hn::NegMulAdd(u, Constant(d, f.lr), w), x.w);
  }
};

template <class T, bool with_largest>
struct AdamRule {
  UpdatePiece<T> x;
  AdamFactors f;
  template <class Place>
  HWY_INLINE void operator()(const Place& at) const {
    const auto d = at.d;
    const auto w = at.Load(x.w), m_old = at.Load(x.a);
    const auto g = hn::MulAdd(w, Constant(d, f.l2), at.Load(x.g));
    const auto m = hn::MulAdd(hn::Sub(g, m_old), Constant(d, f.m_rate), m_old);
    const auto v = hn::MulAdd(hn::Mul(g, g), Constant(d, f.v_rate), hn::Mul(at.Load(x.b), Constant(d, f.v_keep)));
    auto under_root = v;
    if constexpr (with_largest) {
      const auto largest = at.Load(x.c);
      under_root = hn::IfThenElse(hn::Gt(largest, v), largest, v);  // of a v that is NaN: NaN
      at.Store(under_root, x.c);
    }
    const auto root = hn::MulAdd(hn::Sqrt(under_root), Constant(d, f.root_factor), Constant(d, f.eps));
    at.Store(hn::NegMulAdd(hn::Div(m, root), Constant(d, f.step_size), hn::Mul(w, Constant(d, f.keep))), x.w);
    at.Store(m, x.a);
    at.Store(v, x.b);
  }
};

template <class T, bool with_mean, bool with_buffer>
struct RmspropRule {
  UpdatePiece<T> x;
  RmspropFactors f;
  template <class Place>
  HWY_INLINE void operator()(const Place& at) const {
    const auto d = at.d;
    const auto w = at.Load(x.w);
    const auto g = hn::MulAdd(w, Constant(d, f.l2), at.Load(x.g));
    const auto v = hn::MulAdd(hn::Mul(g, g), Constant(d, f.v_rate), hn::Mul(at.Load(x.a), Constant(d, f.v_keep)));
    at.Store(v, x.a);
    auto under_root = v;
    if constexpr (with_mean) {
      const auto m_old = at.Load(x.b);
      const auto m = hn::MulAdd(hn::Sub(g, m_old), Constant(d, f.v_rate), m_old);
      at.Store(m, x.b);
      const auto variance = hn::NegMulAdd(m, m, v);
      under_root = hn::IfThenZeroElse(hn::Lt(variance, hn::Zero(d)), variance);  // NaN stays NaN
    }
    auto u = hn::Div(g, hn::Add(hn::Sqrt(under_root), Constant(d, f.eps)));
    if constexpr (with_buffer) {
      u = hn::MulAdd(at.Load(x.c), Constant(d, f.momentum), u);
      at.Store(u, x.c);
    }
    at.Store(hn::NegMulAdd(u, Constant(d, f.lr), w), x.w);
  }
};

template <class T>
struct AdagradRule {
  UpdatePiece<T> x;
  AdagradFactors f;
  template <class Place>
  HWY_INLINE void operator()(const Place& at) const {
    const auto d = at.d;
    const auto w = at.Load(x.w);
    const auto g = hn::MulAdd(w, Constant(d, f.l2), at.Load(x.g));
    const auto sum = hn::MulAdd(g, g, at.Load(x.a));
    at.Store(sum, x.a);
    at.Store(hn::NegMulAdd(hn::Div(g, hn::Add(hn::Sqrt(sum), Constant(d, f.eps))), Constant(d, f.lr), w), x.w);
  }
};

template <class T>
struct LionRule {
  UpdatePiece<T> x;
  LionFactors f;
  template <class Place>
  HWY_INLINE void operator()(const Place& at) const {
    const auto d = at.d;
    const auto w = at.Load(x.w), g = at.Load(x.g), m = at.Load(x.a);
    const auto u = hn::MulAdd(m, Constant(d, f.u_keep), hn::Mul(g, Constant(d, f.u_rate)));
    const auto has_sign = hn::Or(hn::Lt(u, hn::Zero(d)), hn::Gt(u, hn::Zero(d)));  // 0 and NaN stay what they are
    const auto sign = hn::IfThenElse(has_sign, hn::CopySign(Constant(d, 1), u), u);
    at.Store(hn::NegMulAdd(sign, Constant(d, f.lr), hn::Mul(w, Constant(d, f.keep))), x.w);
    at.Store(hn::MulAdd(m, Constant(d, f.m_keep), hn::Mul(g, Constant(d, f.m_rate))), x.a);
  }
};

template <class T>
HWY_INLINE void Sgd(const UpdatePiece<T>& x, const SgdFactors& f) {
  x.a ? OfVectors<T>(x.n, SgdRule<T, true>{x, f}) : OfVectors<T>(x.n, SgdRule<T, false>{x, f});
}
template <class T>
HWY_INLINE void Adam(const UpdatePiece<T>& x, const AdamFactors& f) {
  x.c ? OfVectors<T>(x.n, AdamRule<T, true>{x, f}) : OfVectors<T>(x.n, AdamRule<T, false>{x, f});
}
template <class T>
HWY_INLINE void Rmsprop(const UpdatePiece<T>& x, const RmspropFactors& f) {
  if (x.b) {
    x.c ? OfVectors<T>(x.n, RmspropRule<T, true, true>{x, f}) : OfVectors<T>(x.n, RmspropRule<T, true, false>{x, f});
  } else {
    x.c ? OfVectors<T>(x.n, RmspropRule<T, false, true>{x, f}) : OfVectors<T>(x.n, RmspropRule<T, false, false>{x, f});
  }
}

static void SgdFloat(const UpdatePiece<float>& x, const SgdFactors& f) { Sgd(x, f); }
static void SgdDouble(const UpdatePiece<double>& x, const SgdFactors& f) { Sgd(x, f); }
static void AdamFloat(const UpdatePiece<float>& x, const AdamFactors& f) { Adam(x, f); }
static void AdamDouble(const UpdatePiece<double>& x, const AdamFactors& f) { Adam(x, f); }
static void RmspropFloat(const UpdatePiece<float>& x, const RmspropFactors& f) { Rmsprop(x, f); }
static void RmspropDouble(const UpdatePiece<double>& x, const RmspropFactors& f) { Rmsprop(x, f); }
static void AdagradFloat(const UpdatePiece<float>& x, const AdagradFactors& f) { OfVectors<float>(x.n, AdagradRule<float>{x, f}); }
static void AdagradDouble(const UpdatePiece<double>& x, const AdagradFactors& f) { OfVectors<double>(x.n, AdagradRule<double>{x, f}); }
static void LionFloat(const UpdatePiece<float>& x, const LionFactors& f) { OfVectors<float>(x.n, LionRule<float>{x, f}); }
static void LionDouble(const UpdatePiece<double>& x, const LionFactors& f) { OfVectors<double>(x.n, LionRule<double>{x, f}); }

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(SgdFloat);
HWY_EXPORT(SgdDouble);
HWY_EXPORT(AdamFloat);
HWY_EXPORT(AdamDouble);
HWY_EXPORT(RmspropFloat);
HWY_EXPORT(RmspropDouble);
HWY_EXPORT(AdagradFloat);
HWY_EXPORT(AdagradDouble);
HWY_EXPORT(LionFloat);
HWY_EXPORT(LionDouble);

namespace {

struct Kept {
  Array *a = nullptr, *b = nullptr, *c = nullptr;
};

/// Runs the function of w's dtype on all pieces.
template <class F, class G, class Factors>
void update(const F& of_floats, const G& of_doubles, Array& w, const Array& g, const Kept& kept, const Factors& factors) {
  constexpr Dim grain = 1 << 14;
  dispatch(w.dtype(), [&]<class T>(T) {
    const auto numbers = [](Array* x) { return x ? x->mutable_data<T>() : nullptr; };
    const UpdatePiece<T> all{w.mutable_data<T>(), g.data<T>(), numbers(kept.a), numbers(kept.b), numbers(kept.c), w.numel()};
    const auto from = [](T* p, Dim begin) { return p ? p + begin : nullptr; };
    const auto run = [&] {
      if constexpr (std::is_same_v<T, float>)
        return of_floats;
      else
        return of_doubles;
    }();
    parallel_for(w.numel(), grain, [&](Dim begin, Dim end) {
      run(UpdatePiece<T>{all.w + begin, all.g + begin, from(all.a, begin), from(all.b, begin), from(all.c, begin), end - begin}, factors);
    });
  });
}

}  // namespace

void sgd(Array& w, const Array& g, Array* b, const SgdFactors& factors) {
  update(TAPEFORM_DISPATCH(SgdFloat), TAPEFORM_DISPATCH(SgdDouble), w, g, {b}, factors);
}
void adam(Array& w, const Array& g, Array& m, Array& v, Array* largest, const AdamFactors& factors) {
  update(TAPEFORM_DISPATCH(AdamFloat), TAPEFORM_DISPATCH(AdamDouble), w, g, {&m, &v, largest}, factors);
}
void rmsprop(Array& w, const Array& g, Array& v, Array* mean, Array* b, const RmspropFactors& factors) {
  update(TAPEFORM_DISPATCH(RmspropFloat), TAPEFORM_DISPATCH(RmspropDouble), w, g, {&v, mean, b}, factors);
}
void adagrad(Array& w, const Array& g, Array& sum, const AdagradFactors& factors) {
  update(TAPEFORM_DISPATCH(AdagradFloat), TAPEFORM_DISPATCH(AdagradDouble), w, g, {&sum}, factors);
}
void lion(Array& w, const Array& g, Array& m, const LionFactors& factors) {
  update(TAPEFORM_DISPATCH(LionFloat), TAPEFORM_DISPATCH(LionDouble), w, g, {&m}, factors);
}

}  // namespace tapeform::kernels
#endif  // HWY_ONCE
