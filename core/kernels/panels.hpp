#pragma once
#include <tapeform/core/shape.hpp>

namespace tapeform::kernels {

/// C = alpha·A·B + beta·C, where B was packed: A [m, k] by the distances of its rows and columns, so that a transposed one is read in
/// place; C [m, n] in rows `ldc` apart. With beta = 0, C is not read.
template <class T>
struct PanelProduct {
  Dim m, n, k;
  T alpha;
  const T* a;
  Dim a_row, a_column;
  const T* panels;
  Dim panel_rows;  // those of B as it was packed, k or more
  T beta;
  T* c;
  Dim ldc;
};

/// Products whose right operand is used many times in a row: it is arranged once, where a BLAS would arrange it anew in every call. A
/// row's result does not depend on how many rows share the product, and a column's only on its own numbers.
template <class T>
struct Panels {
  Dim width = 0;  ///< columns of a panel
  /// op(B) [k, n] into panels [⌈n / width⌉, k, width], zeros behind the last column.
  void (*pack)(bool trans_b, const T* b, Dim ldb, Dim k, Dim n, T* to) = nullptr;
  void (*multiply)(const PanelProduct<T>& product) = nullptr;

  Dim packed_size(Dim k, Dim n) const { return k * ((n + width - 1) / width * width); }
};

/// Taken once per call, outside of parallel loops.
template <class T>
Panels<T> panels();

}  // namespace tapeform::kernels
