#include "kernels/accumulate.hpp"

#include <tapeform/core/parallel.hpp>

#include "kernels/elementwise_loops.hpp"

namespace tapeform::kernels {

void add_into(Array& a, const Array& b) {
  dispatch(a.dtype(), [&]<class T>(T) {
    T* const to = a.mutable_data<T>();
    const T* const from = b.data<T>();
    parallel_for(a.numel(), 1 << 15, [=](Dim begin, Dim end) {
      run_binary(Binary::add, BinaryRows<T>{to + begin, from + begin, to + begin, 1, end - begin, 0, 0, false, false});
    });
  });
}

}  // namespace tapeform::kernels
