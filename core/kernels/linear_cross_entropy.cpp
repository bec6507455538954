#include <algorithm>
#include <tapeform/core/parallel.hpp>

#include "kernels/cross_entropy.hpp"
#include "kernels/gemm.hpp"

namespace tapeform::kernels {

namespace {

constexpr Dim most_rows = 1024;

// Rows of a tile. Each tile reads the whole weight twice and adds to its whole gradient, so there should be few: with four million
// logits in each, not one, [3155, 128] against [9716, 128] takes a quarter less time.
Dim rows_of_tile(Dim rows, Dim V) { return std::min(rows, std::clamp<Dim>((Dim{1} << 22) / std::max<Dim>(1, V) / 64 * 64, 64, most_rows)); }

// The rows of one tile that are not ignored, one after the other.
template <class T>
class LogitTile {
 public:
  LogitTile(Dim capacity, Dim D, DType dtype) : capacity_(capacity), D_(D), dtype_(dtype) {}

  // Takes up to `capacity` rows from `row` on and returns where the next tile begins.
  Dim take(const std::int64_t* targets, std::int64_t ignore_id, Dim row, Dim rows) {
    count = 0;
    for (; row < rows && count < capacity_; ++row) {
      if (targets[row] == ignore_id) continue;
      index_[count] = row;
      this->targets[count++] = targets[row];
    }
    return row;
  }
  // Rows that stand side by side are used in place.
  bool in_place() const { return index_[count - 1] - index_[0] == count - 1; }
  Dim first() const { return index_[0]; }

  const T* gather(const T* from) {
    if (in_place()) return from + first() * D_;
    T* const to = buffer();
    for (Dim i = 0; i < count; ++i) std::copy_n(from + index_[i] * D_, D_, to + i * D_);
    return to;
  }
  void scatter(const T* from, Dim width, T* to) const {
    for (Dim i = 0; i < count; ++i) std::copy_n(from + i * width, width, to + index_[i] * width);
  }
  // One number for each row of the tile.
  void pick(const T* from, Dim stride, T* to) const {
    for (Dim i = 0; i < count; ++i) to[i] = from[index_[i] * stride];
  }

  Dim count = 0;
  std::int64_t targets[most_rows];

 private:
  T* buffer() {
    if (!gathered_) gathered_ = Array(Shape{capacity_, D_}, dtype_);
    return gathered_.mutable_data<T>();
  }

  Dim capacity_, D_;
  DType dtype_;
  Dim index_[most_rows];
  Array gathered_;
};

template <class T>
void sweep(const Array& h, const Array& weight, const TargetDistribution& q, const LinearCrossEntropyTask& task) {
  const Dim rows = q.targets.numel(), V = weight.dim(0), D = weight.dim(1), capacity = rows_of_tile(rows, V);
  const DType dtype = h.dtype();
  const std::int64_t* const targets = q.targets.values().data();
  const T *const from = h.data<T>(), *const w = weight.data<T>();
  T* const losses = task.losses ? task.losses->mutable_data<T>() : nullptr;
  T* const dh = task.dh ? task.dh->mutable_data<T>() : nullptr;
  T* const dw = task.dweight ? task.dweight->mutable_data<T>() : nullptr;

  Array logits(Shape{capacity, V}, dtype), row_numbers(Shape{capacity, cross_entropy_stats + 2}, dtype), dh_rows;
  T* const x = logits.mutable_data<T>();
  T* const stats = row_numbers.mutable_data<T>();
  T *const tile_losses = stats + capacity * cross_entropy_stats, *const upstream = tile_losses + capacity;
  LogitTile<T> tile(capacity, D, dtype);
  T beta = 0;
  for (Dim row = 0; (row = tile.take(targets, q.ignore_id, row, rows), tile.count > 0);) {
    const Dim n = tile.count;
    const T* const tile_h = tile.gather(from);
    gemm_parallel<T>(false, true, n, V, D, T{1}, tile_h, D, w, D, T{0}, x, V);  // [n, V]
    const CrossEntropyRows<T> all(x, tile.targets, n, V, q);
    cross_entropy_rows(all, tile_losses, stats);
    if (losses) tile.scatter(tile_losses, 1, losses);
    if (!dh && !dw) continue;
    tile.pick(task.dlosses->data<T>(), task.dlosses->numel() == 1 ? 0 : 1, upstream);
    cross_entropy_gradient_rows(all, stats, RowGradient<T>{upstream, 1, static_cast<T>(task.factor)}, x);
    if (dh && tile.in_place()) {
      gemm_parallel<T>(false, false, n, D, V, T{1}, x, V, w, D, T{0}, dh + tile.first() * D, D);  // [n, D]
    } else if (dh) {
      if (!dh_rows) dh_rows = Array(Shape{capacity, D}, dtype);
      T* const rows_out = dh_rows.mutable_data<T>();
      gemm_parallel<T>(false, false, n, D, V, T{1}, x, V, w, D, T{0}, rows_out, D);  // [n, D]
      tile.scatter(rows_out, D, dh);
    }
    if (dw) gemm_parallel<T>(true, false, V, D, n, T{1}, x, V, tile_h, D, beta, dw, D);  // [V, D]
    beta = 1;
  }
}

}  // namespace

void linear_cross_entropy(const Array& h, const Array& weight, const TargetDistribution& q, const LinearCrossEntropyTask& task) {
  // What no tile writes: rows that are ignored, and everything when all of them are.
  const bool some_ignored = q.counted < q.targets.numel();
  const auto prepare = [&](Array* out, const Shape& shape, bool zeros) {
    if (out) *out = zeros ? Array::zeros(shape, h.dtype()) : Array(shape, h.dtype());
  };
  prepare(task.losses, q.targets.shape(), some_ignored);
  prepare(task.dh, h.shape(), some_ignored);
  prepare(task.dweight, weight.shape(), q.counted == 0);
  if (q.counted == 0) return;
  dispatch(h.dtype(), [&]<class T>(T) { sweep<T>(h, weight, q, task); });
}

Array scaled(const Array& x, double factor) {
  if (factor == 1 || !x) return x;
  Array y(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    const T by = static_cast<T>(factor);
    parallel_for(x.numel(), 1 << 15, [=](Dim begin, Dim end) {
      for (Dim i = begin; i < end; ++i) to[i] = from[i] * by;
    });
  });
  return y;
}

}  // namespace tapeform::kernels
