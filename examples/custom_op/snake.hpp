#pragma once
#include <tapeform/tapeform.hpp>

/// y = x + sin²(a·x)/a over the last axis: an activation for what repeats (Ziyin, Hartwig, Ueda, "Neural Networks Fail to Learn Periodic
/// Functions and How to Fix It", 2020, section 4).
///
/// x is [..., D], a is [D] and nowhere 0. dx = dy·(1 + sin 2ax), da = Σ dy·(x·sin 2ax − sin²(ax)/a)/a over the leading axes.
/// @throws tapeform::ShapeError unless a is [D], tapeform::DTypeError for two dtypes.
tapeform::Tensor snake(const tapeform::Tensor& x, const tapeform::Tensor& a);

/// The op as a module: each feature learns its own frequency.
struct Snake : tapeform::nn::Module<Snake> {
  tapeform::Parameter a;
  explicit Snake(tapeform::Dim width) : a(tapeform::Array::ones({width})) {}
  tapeform::Tensor forward(const tapeform::Tensor& x) const { return snake(x, a); }
  void visit(tapeform::nn::Fields& field) { field("a", a); }
};

/// [N, 1] → [N, 1] by way of `width` features.
struct Wave : tapeform::nn::Module<Wave> {
  tapeform::nn::Linear up;
  Snake bend;
  tapeform::nn::Linear down;
  Wave(tapeform::Dim width, tapeform::Rng& rng) : up(1, width, rng), bend(width), down(width, 1, rng) {}
  tapeform::Tensor forward(const tapeform::Tensor& x) const { return down(bend(up(x))); }
  void visit(tapeform::nn::Fields& field) {
    field("up", up);
    field("bend", bend);
    field("down", down);
  }
};
