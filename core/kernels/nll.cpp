#include "kernels/nll.hpp"

namespace tapeform::kernels {

Array nll(const Array& x, const Array& weights, const Ids& targets, std::int64_t ignore_id) {
  Array losses(targets.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T *from = x.data<T>(), *const weight = weights ? weights.data<T>() : nullptr;
    T* to = losses.mutable_data<T>();
    const Dim V = x.dim(-1);
    for (const std::int64_t target : targets.values()) {
      const T w = target == ignore_id ? T{0} : weight ? weight[target] : T{1};
      *to++ = w == T{0} ? T{0} : -w * from[target];
      from += V;
    }
  });
  return losses;
}

void add_nll_gradient(Array& dx, const Array& weights, const Ids& targets, std::int64_t ignore_id, const Array& dlosses, double factor) {
  dispatch(dx.dtype(), [&]<class T>(T) {
    const T *upstream = dlosses.data<T>(), *const weight = weights ? weights.data<T>() : nullptr;
    T* to = dx.mutable_data<T>();
    const Dim V = dx.dim(-1), step = dlosses.numel() == 1 ? 0 : 1;
    for (const std::int64_t target : targets.values()) {
      if (target != ignore_id) to[target] -= (weight ? weight[target] : T{1}) * (static_cast<T>(factor) * *upstream);
      to += V;
      upstream += step;
    }
  });
}

double sum_of_weights(const Array& weights, const Ids& targets, std::int64_t ignore_id) {
  return dispatch(weights.dtype(), [&]<class T>(T) {
    double sum = 0;
    for (const std::int64_t target : targets.values())
      if (target != ignore_id) sum += static_cast<double>(weights.data<T>()[target]);
    return sum;
  });
}

}  // namespace tapeform::kernels
