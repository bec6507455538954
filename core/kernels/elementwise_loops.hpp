#pragma once
#include <cstdint>
#include <tapeform/core/shape.hpp>

// The vector loops behind elementwise.hpp, on raw memory and one thread. Results may be written over an operand.

namespace tapeform::kernels {

enum class Unary : std::uint8_t { neg, exp, log, sqrt, tanh, erf, erfc, relu, gelu_erf, gelu_tanh, sigmoid, silu };

/// The first four broadcast; the gradients take two arrays of one shape: dy and what the comment says.
enum class Binary : std::uint8_t {
  add,
  sub,
  mul,
  div,
  sqrt_gradient,       ///< y: dy/(2·y); 0 where dy is 0
  log_gradient,        ///< x: dy/x; 0 where dy is 0
  tanh_gradient,       ///< y: dy·(1 - y²)
  relu_gradient,       ///< x: dy where x > 0 or NaN, else 0
  gelu_erf_gradient,   ///< x
  gelu_tanh_gradient,  ///< x
  sigmoid_gradient,    ///< x
  silu_gradient,       ///< x
};

/// `rows` rows of n results, one after the other. An operand moves on by its stride from row to row; within a row it gives n numbers, or
/// the same one n times.
template <class T>
struct BinaryRows {
  const T* a;
  const T* b;
  T* c;
  Dim rows, n;
  Dim a_stride, b_stride;
  bool a_repeats, b_repeats;  // not both
};

void run_binary(Binary op, const BinaryRows<float>& rows);
void run_binary(Binary op, const BinaryRows<double>& rows);
void run_unary(Unary op, const float* x, float* y, Dim n);
void run_unary(Unary op, const double* x, double* y, Dim n);
/// y = y + s·x.
void run_add_scaled(float* y, float s, const float* x, Dim n);
void run_add_scaled(double* y, double s, const double* x, Dim n);

}  // namespace tapeform::kernels
