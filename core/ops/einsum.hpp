#pragma once
#include <initializer_list>
#include <span>
#include <string_view>
#include <tapeform/core/tensor.hpp>

namespace tapeform {

/// A sum of products, written with a letter for every axis (Einstein's convention, as in numpy and torch):
///
///     einsum("bqhd,bkhd->bhqk", {q, k})     y[b,h,q,k] = Σ_d q[b,q,h,d] · k[b,k,h,d]
///
/// Letters that the result does not name are summed over. Without `->` the result has, in alphabetical order, the letters that occur
/// once. A letter that stands twice in one operand takes the diagonal ("ii->" is the trace). `...` stands for any number of leading
/// axes, which broadcast and come first in the result when it is not given. Spaces do not count.
///
/// It is composed from permute, reshape, matmul, mul, sum and slice, pair by pair from the left, so it has their derivatives.
/// @throws ValueError for an equation that cannot be read, or that does not fit the number of operands; ShapeError for sizes that
/// differ under one letter, a rank that does not fit, or more than 8 axes on the way; DTypeError.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

}  // namespace tapeform
