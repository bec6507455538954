#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/ops/attention.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

namespace attention_reference {

using namespace tapeform;

/// One attention, small enough for plain loops in float64.
struct Problem {
  Dim B = 1, H = 1, Tq = 1, Tk = 1, E = 1, Ev = 1;
  Array q, k, v, dout;  // [B, Tq, E], [B, Tk, E], [B, Tk, Ev], [B, Tq, Ev], float64
  Mask mask = {};
  Array bias = {};     // [B, H, Tq, Tk], or nothing
  Array factors = {};  // of dropout, [B, H, Tq, Tk], or nothing
};

inline Problem random_problem(Rng& rng, Dim B, Dim H, Dim Tq, Dim Tk, Dim E, Dim Ev) {
  Problem p{B, H, Tq, Tk, E, Ev, {}, {}, {}, {}};
  p.q = normal({B, Tq, E}, 0, 1, rng, DType::float64);
  p.k = normal({B, Tk, E}, 0, 1, rng, DType::float64);
  p.v = normal({B, Tk, Ev}, 0, 1, rng, DType::float64);
  p.dout = normal({B, Tq, Ev}, 0, 1, rng, DType::float64);
  return p;
}

struct Answer {
  Array out, weights, dq, dk, dv, dbias;
};

/// The definition, written out; a pair that the mask hides is never touched.
inline Answer answer(const Problem& p, double scale = 0) {
  const Shape scores{p.B, p.H, p.Tq, p.Tk};
  Answer a{Array::zeros(p.dout.shape(), DType::float64), Array::zeros(scores, DType::float64),
           Array::zeros(p.q.shape(), DType::float64),    Array::zeros(p.k.shape(), DType::float64),
           Array::zeros(p.v.shape(), DType::float64),    Array::zeros(scores, DType::float64)};
  const Dim d = p.E / p.H, dv = p.Ev / p.H;
  const double c = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(d));
  const double *Q = p.q.data<double>(), *K = p.k.data<double>(), *V = p.v.data<double>(), *dO = p.dout.data<double>();
  double *O = a.out.mutable_data<double>(), *W = a.weights.mutable_data<double>(), *dQ = a.dq.mutable_data<double>(),
         *dK = a.dk.mutable_data<double>(), *dV = a.dv.mutable_data<double>(), *dB = a.dbias.mutable_data<double>();
  const auto n = static_cast<std::size_t>(p.Tk);
  std::vector<double> s(n), dw(n), factor(n, 1.0);
  for (Dim b = 0; b < p.B; ++b)
    for (Dim h = 0; h < p.H; ++h)
      for (Dim i = 0; i < p.Tq; ++i) {
        const MaskRow row = p.mask.row(b, h, i, p.Tq, p.Tk);
        const Dim at = ((b * p.H + h) * p.Tq + i) * p.Tk, qi = (b * p.Tq + i) * p.E + h * d, oi = (b * p.Tq + i) * p.Ev + h * dv;
        const double none = -std::numeric_limits<double>::infinity();
        double max = none, sum = 0, dot = 0;
        for (Dim j = 0; j < p.Tk; ++j) {
          const auto t = static_cast<std::size_t>(j);
          s[t] = none;
          const double bias = p.bias ? p.bias.data<double>()[at + j] : 0;
          if (!row.sees(j) || bias == none) continue;
          s[t] = bias;
          for (Dim e = 0; e < d; ++e) s[t] += c * Q[qi + e] * K[(b * p.Tk + j) * p.E + h * d + e];
          max = std::max(max, s[t]);
          if (p.factors) factor[t] = p.factors.data<double>()[at + j];
        }
        for (Dim j = 0; j < p.Tk; ++j) sum += max == none ? 0 : std::exp(s[static_cast<std::size_t>(j)] - max);
        for (Dim j = 0; j < p.Tk; ++j) {
          const auto t = static_cast<std::size_t>(j);
          if (s[t] == none) continue;
          const double w = W[at + j] = std::exp(s[t] - max) / sum;
          const Dim vj = (b * p.Tk + j) * p.Ev + h * dv;
          dw[t] = 0;
          for (Dim e = 0; e < dv; ++e) {
            O[oi + e] += w * factor[t] * V[vj + e];
            dV[vj + e] += w * factor[t] * dO[oi + e];
            dw[t] += factor[t] * dO[oi + e] * V[vj + e];
          }
          dot += w * dw[t];
        }
        for (Dim j = 0; j < p.Tk; ++j) {
          const auto t = static_cast<std::size_t>(j);
          if (s[t] == none) continue;
          const double ds = dB[at + j] = W[at + j] * (dw[t] - dot);
          const Dim kj = (b * p.Tk + j) * p.E + h * d;
          for (Dim e = 0; e < d; ++e) {
            dQ[qi + e] += c * ds * K[kj + e];
            dK[kj + e] += c * ds * Q[qi + e];
          }
        }
      }
  return a;
}

/// What the library says, in the problem's own dtype.
inline Answer run(const Problem& p, AttentionOptions options = {}, Rng* rng = nullptr) {
  Rng unused(1);
  Tape tape(rng ? *rng : unused);
  Answer a;
  options.heads = p.H;
  options.mask = p.mask;
  options.weights = &a.weights;
  const Tensor q = tape.watch(p.q), k = tape.watch(p.k), v = tape.watch(p.v), bias = p.bias ? tape.watch(p.bias) : Tensor();
  options.bias = bias;
  const Tensor out = attention(q, k, v, options);
  tape.backward(out, p.dout);
  return {out.value(), a.weights, tape.grad(q), tape.grad(k), tape.grad(v), p.bias ? tape.grad(bias) : Array()};
}

/// The largest difference over the largest number expected; the difference itself where that is 0.
inline double difference(const Array& got, const Array& expected) {
  if (!got || got.numel() != expected.numel()) return std::numeric_limits<double>::infinity();
  const std::vector<double> x = got.to_vector(), y = expected.to_vector();
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = std::abs(x[i] - y[i]);
    if (!(off <= worst)) worst = off;  // NaN counts
    largest = std::max(largest, std::abs(y[i]));
  }
  return largest > 1e-12 ? worst / largest : worst;
}

inline double worst_difference(const Answer& got, const Answer& expected) {
  double worst = 0;
  for (const auto& [x, y] : {std::pair{&got.out, &expected.out}, std::pair{&got.weights, &expected.weights},
                             std::pair{&got.dq, &expected.dq}, std::pair{&got.dk, &expected.dk}, std::pair{&got.dv, &expected.dv}})
    worst = std::max(worst, difference(*x, *y));
  return got.dbias ? std::max(worst, difference(got.dbias, expected.dbias)) : worst;
}

inline bool same_bits(const Answer& a, const Answer& b) {
  return tapeform::same_bits(a.out, b.out) && tapeform::same_bits(a.weights, b.weights) && tapeform::same_bits(a.dq, b.dq) &&
         tapeform::same_bits(a.dk, b.dk) && tapeform::same_bits(a.dv, b.dv) && tapeform::same_bits(a.dbias, b.dbias);
}

inline Problem cast(Problem p, DType dtype) {
  for (Array* x : {&p.q, &p.k, &p.v, &p.dout, &p.bias})
    if (*x) *x = x->cast(dtype);
  return p;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

inline Array doubles(const Shape& shape, std::initializer_list<double> values) { return Array::of(shape, values, DType::float64); }
inline Array zeros(const Shape& shape) { return Array::zeros(shape, DType::float64); }

inline std::vector<double> row(const Array& x, Dim r) {
  const Dim width = x.dim(-1);
  const std::vector<double> all = x.to_vector();
  return {all.begin() + r * width, all.begin() + (r + 1) * width};
}

inline Array weights_of(const Problem& p, AttentionOptions options = {}) { return run(p, options).weights; }

// Equal scores: queries and keys of zeros.
inline Problem equal_scores(Dim B, Dim H, Dim Tq, Dim Tk) {
  return {B, H, Tq, Tk, H, H, zeros({B, Tq, H}), zeros({B, Tk, H}), zeros({B, Tk, H}), zeros({B, Tq, H})};
}

inline Array with_row(const Array& x, Dim sample, Dim r, double value) {
  Array filled = x;
  dispatch(x.dtype(), [&]<class T>(T) {
    T* const to = filled.mutable_data<T>() + (sample * x.dim(1) + r) * x.dim(2);
    std::fill_n(to, x.dim(2), static_cast<T>(value));
  });
  return filled;
}

inline bool same_rows(const Array& a, const Array& b, Dim begin, Dim end) {
  return tapeform::same_bits(a.rows(begin, end), b.rows(begin, end));
}

}  // namespace attention_reference
