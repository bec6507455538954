#pragma once
#include <cstdint>
#include <tapeform/core/shape.hpp>

namespace tapeform::kernels {

/// Loops over one row of scores, of the vector level in use.
template <class T>
struct AttentionRows {
  /// s = allowed ? s : −inf
  void (*hide)(T* s, const std::uint8_t* allowed, Dim n);
  /// s += bias; −inf where the bias is, whatever s holds
  void (*add_bias)(T* s, const T* bias, Dim n);
  /// One more part of a row: s = exp(s − max), with `max` and `sum` of exp brought up to date. Returns the factor for what was added
  /// up under the maximum before.
  T (*exponentials)(T* s, Dim n, T& max, T& sum);
  /// s = exp(s − shift) · inverse
  void (*weights)(T* s, Dim n, T shift, T inverse);
  /// to = word >= threshold ? from · factor : 0
  void (*drop)(const T* from, T* to, const std::uint32_t* words, std::uint32_t threshold, T factor, Dim n);
  /// ds = p · (ds − dot), and 0 where p is 0, whatever ds holds
  void (*score_gradient)(const T* p, T* ds, T dot, Dim n);
  /// The same with dropout: ds is the gradient of the dropped weights, which are 0 where a weight was dropped.
  void (*dropped_score_gradient)(const T* p, const T* dropped, T* ds, T factor, T dot, Dim n);
  void (*scale)(const T* from, T* to, T factor, Dim n);
  void (*add_scaled)(const T* from, T* to, T factor, Dim n);
  T (*dot)(const T* a, const T* b, Dim n);
  bool (*is_finite)(const T* x, Dim n);
};

/// Taken once per call, outside of parallel loops.
template <class T>
AttentionRows<T> attention_rows();

}  // namespace tapeform::kernels
