#include "kernels/accumulate.hpp"

#include <tapeform/core/parallel.hpp>

namespace tapeform::kernels {

void add_into(Array& a, const Array& b) {
  dispatch(a.dtype(), [&]<class T>(T) {
    T* const to = a.mutable_data<T>();
    const T* const from = b.data<T>();
    parallel_for(a.numel(), 1 << 15, [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) to[i] += from[i];
    });
  });
}

}  // namespace tapeform::kernels
