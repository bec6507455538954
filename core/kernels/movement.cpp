#include "kernels/movement.hpp"

#include <algorithm>
#include <tapeform/core/parallel.hpp>

#include "kernels/axis_split.hpp"
#include "kernels/elementwise_loops.hpp"
#include "kernels/runs.hpp"

namespace tapeform::kernels {
namespace {

// Axes of the result, outermost first, with x's and the result's own step along each. Axes of size 1 are gone, and axes that follow one
// another in both are one.
struct Moves {
  int rank = 0;
  Dim size[Shape::max_rank], from[Shape::max_rank], to[Shape::max_rank];

  Moves(const Shape& x, std::span<const int> axes) {
    Dim step[Shape::max_rank] = {}, next = 1;
    for (int i = x.rank(); i-- > 0; next *= x[i]) step[i] = next;
    for (const int axis : axes) {
      if (x[axis] == 1) continue;
      if (rank > 0 && from[rank - 1] == step[axis] * x[axis]) {
        size[rank - 1] *= x[axis];
        from[rank - 1] = step[axis];
      } else {
        size[rank] = x[axis];
        from[rank++] = step[axis];
      }
    }
    next = 1;
    for (int i = rank; i-- > 0; next *= size[i]) to[i] = next;
  }
  void remove(int axis) {
    for (int i = axis; i + 1 < rank; ++i) {
      size[i] = size[i + 1];
      from[i] = from[i + 1];
      to[i] = to[i + 1];
    }
    --rank;
  }
  Dim count() const {
    Dim product = 1;
    for (int i = 0; i < rank; ++i) product *= size[i];
    return product;
  }
};

// Goes through all indices in order and keeps the places that belong to them.
class Walk {
 public:
  Walk(const Moves& moves, Dim index) : moves_(moves) {
    for (int i = moves.rank; i-- > 0; index /= moves.size[i]) {
      place_[i] = index % moves.size[i];
      from += place_[i] * moves.from[i];
      to += place_[i] * moves.to[i];
    }
  }
  void next() {
    for (int i = moves_.rank; i-- > 0;) {
      from += moves_.from[i];
      to += moves_.to[i];
      if (++place_[i] < moves_.size[i]) return;
      from -= moves_.size[i] * moves_.from[i];
      to -= moves_.size[i] * moves_.to[i];
      place_[i] = 0;
    }
  }
  Dim from = 0, to = 0;

 private:
  const Moves& moves_;
  Dim place_[Shape::max_rank] = {};
};

// The last axis stays last: rows are copied whole. [B, T, H, d] -> [B, H, T, d]
template <class T>
void copy_rows(Moves moves, const T* x, T* y) {
  const Dim width = moves.size[moves.rank - 1];
  moves.remove(moves.rank - 1);
  parallel_for(moves.count(), grain_for_items(width), [&](Dim begin, Dim end) {
    Walk walk(moves, begin);
    for (Dim i = begin; i < end; ++i, walk.next()) copy(y + walk.to, x + walk.from, width);
  });
}

// x's last axis, along which it is read, lies elsewhere in y: matrices are transposed, in blocks that stay in the nearest cache.
template <class T>
void transpose_blocks(Moves moves, const T* x, T* y) {
  constexpr Dim block = 16;
  const int last = moves.rank - 1;
  const int read = static_cast<int>(std::find(moves.from, moves.from + last, Dim{1}) - moves.from);
  const Dim rows = moves.size[read], row_step = moves.to[read], columns = moves.size[last], column_step = moves.from[last];
  const Dim strips = (rows + block - 1) / block;
  moves.remove(last);
  moves.remove(read);
  parallel_for(moves.count() * strips, grain_for_items(block * columns), [=](Dim begin, Dim end) {
    for (Dim item = begin; item < end; ++item) {
      const Walk matrix(moves, item / strips);
      const Dim first = item % strips * block, past = std::min(rows, first + block);
      for (Dim column = 0; column < columns; column += block) {
        const Dim width = std::min(columns - column, block);
        for (Dim i = first; i < past; ++i) {
          T* const to = y + matrix.to + i * row_step + column;
          const T* const from = x + matrix.from + i + column * column_step;
          for (Dim j = 0; j < width; ++j) to[j] = from[j * column_step];
        }
      }
    }
  });
}

// Calls f(to, from, numbers) for runs of numbers that are adjacent in both, of `count` blocks `to_step` and `from_step` apart.
template <class T, class F>
void for_runs(Dim count, Dim numbers, T* to, Dim to_step, const T* from, Dim from_step, F f) {
  if (numbers == 0) return;
  if (count == 1) {
    parallel_for(numbers, chunk_numbers, [=](Dim begin, Dim end) { f(to + begin, from + begin, end - begin); });
    return;
  }
  parallel_for(count, grain_for_items(numbers), [=](Dim begin, Dim end) {
    for (Dim i = begin; i < end; ++i) f(to + i * to_step, from + i * from_step, numbers);
  });
}

}  // namespace

Array permute(const Array& x, std::span<const int> axes) {
  Shape shape;
  for (const int axis : axes) shape.push_back(x.dim(axis));
  if (x.numel() == 0) return Array(shape, x.dtype());
  const Moves moves(x.shape(), axes);
  if (moves.rank < 2) return x.reshape(shape);
  Array y(shape, x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    if (moves.from[moves.rank - 1] == 1)
      copy_rows(moves, x.data<T>(), y.mutable_data<T>());
    else
      transpose_blocks(moves, x.data<T>(), y.mutable_data<T>());
  });
  return y;
}

Array slice(const Array& x, int axis, Dim begin, Dim end) {
  if (axis == 0) return x.rows(begin, end);
  if (begin == 0 && end == x.dim(axis)) return x;
  Shape shape = x.shape();
  shape.set(axis, end - begin);
  Array y(shape, x.dtype());
  const AxisSplit split(x.shape(), axis);
  dispatch(x.dtype(), [&]<class T>(T) {
    for_runs(split.outer, (end - begin) * split.inner, y.mutable_data<T>(), (end - begin) * split.inner, x.data<T>() + begin * split.inner,
             x.dim(axis) * split.inner, copy<T>);
  });
  return y;
}

void add_to_slice(Array& dx, const Array& dy, int axis, Dim begin) {
  const AxisSplit split(dx.shape(), axis);
  const Dim run = dy.dim(axis) * split.inner;
  dispatch(dx.dtype(), [&]<class T>(T) {
    for_runs(split.outer, run, dx.mutable_data<T>() + begin * split.inner, dx.dim(axis) * split.inner, dy.data<T>(), run,
             [](T* to, const T* from, Dim count) { run_add_scaled(to, T{1}, from, count); });
  });
}

void copy_to_slice(Array& y, const Array& x, int axis, Dim begin) {
  const AxisSplit split(y.shape(), axis);
  const Dim run = x.dim(axis) * split.inner;
  dispatch(y.dtype(), [&]<class T>(T) {
    for_runs(split.outer, run, y.mutable_data<T>() + begin * split.inner, y.dim(axis) * split.inner, x.data<T>(), run, copy<T>);
  });
}

}  // namespace tapeform::kernels
