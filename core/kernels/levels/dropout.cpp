#include "kernels/dropout.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tapeform/core/parallel.hpp>

#include "kernels/levels/shared.hpp"

#undef TAPEFORM_KERNEL_FILE
#define TAPEFORM_KERNEL_FILE "kernels/levels/dropout.cpp"
#include "kernels/levels/each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapeform::kernels {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__

static void PhiloxBlocks(std::uint64_t first, std::uint64_t stream, std::uint64_t seed, Dim blocks, std::uint32_t* words) {
  for (Dim b = 0; b < blocks; ++b) {
    const auto bits = philox(first + static_cast<std::uint64_t>(b), stream, seed);
    std::copy(bits.begin(), bits.end(), words + 4 * b);
  }
}

#else

/// `tapeform::philox` with one block in each 64-bit lane. Every word stands in the lower half of its lane; what is in the upper halves
/// never reaches a product.
template <class D>
struct PhiloxLanes {
  using V = hn::VFromD<D>;
  V x0, x1, x2, x3;

  HWY_INLINE PhiloxLanes(D d, V counter, std::uint64_t stream)
      : x0(counter), x1(hn::ShiftRight<32>(counter)), x2(hn::Set(d, stream)), x3(hn::Set(d, stream >> 32)) {}

  HWY_INLINE void Round(D d, V k0, V k1) {
    const hn::Repartition<std::uint32_t, D> d32;
    const V p0 = hn::MulEven(hn::BitCast(d32, x0), hn::BitCast(d32, hn::Set(d, 0xD2511F53)));
    const V p1 = hn::MulEven(hn::BitCast(d32, x2), hn::BitCast(d32, hn::Set(d, 0xCD9E8D57)));
    x0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), x1), k0);
    x1 = p1;
    x2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), x3), k1);
    x3 = p0;
  }

  /// The four words of each block, one block after the other.
  HWY_INLINE void Store(D d, std::uint64_t* pairs) const {
    const V low = hn::Set(d, 0xffffffff);
    hn::StoreInterleaved2(hn::Or(hn::And(x0, low), hn::ShiftLeft<32>(x1)), hn::Or(hn::And(x2, low), hn::ShiftLeft<32>(x3)), d, pairs);
  }
};

/// The words of `blocks` blocks from `first` on. Two vectors at a time: one round waits for the one before it.
static void PhiloxBlocks(std::uint64_t first, std::uint64_t stream, std::uint64_t seed, Dim blocks, std::uint32_t* words) {
  const hn::ScalableTag<std::uint64_t> d;
  const Dim lanes = LaneCount(d);
  HWY_ALIGN std::uint64_t pairs[4 * hn::MaxLanes(d)];
  for (Dim b = 0; b < blocks; b += 2 * lanes) {
    const auto counter = first + static_cast<std::uint64_t>(b);
    PhiloxLanes<decltype(d)> one(d, hn::Iota(d, counter), stream), two(d, hn::Iota(d, counter + static_cast<std::uint64_t>(lanes)), stream);
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const auto key0 = hn::Set(d, std::uint64_t{k0}), key1 = hn::Set(d, std::uint64_t{k1});
      one.Round(d, key0, key1);
      two.Round(d, key0, key1);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    one.Store(d, pairs);
    two.Store(d, pairs + 2 * lanes);
    std::memcpy(words + 4 * b, pairs, static_cast<std::size_t>(std::min(2 * lanes, blocks - b)) * 16);
  }
}

#endif

static void SelectElements(DType dtype, const void* x, void* y, const std::uint32_t* words, std::uint32_t threshold, double factor,
                           Dim begin, Dim count) {
  if (dtype == DType::float32)
    Drop(static_cast<const float*>(x) + begin, static_cast<float*>(y) + begin, words, threshold, static_cast<float>(factor), count);
  else
    Drop(static_cast<const double*>(x) + begin, static_cast<double*>(y) + begin, words, threshold, factor, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace tapeform::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tapeform::kernels {

HWY_EXPORT(PhiloxBlocks);
HWY_EXPORT(SelectElements);

DropoutDraw::DropoutDraw(Rng& rng, double p, Dim count)
    : seed(rng.state().seed), stream(rng.state().stream), first(rng.reserve(static_cast<std::uint64_t>(count + 3) / 4)) {
  threshold = static_cast<std::uint64_t>(std::ceil(p * 0x1p32));
  factor = threshold >> 32 ? 0.0 : 1.0 / (1.0 - p);
}

static constexpr Dim piece = 1 << 10;  // words on the stack at a time

void dropout_words(const DropoutDraw& draw, Dim begin, Dim end, std::uint32_t* words) {
  const auto blocks = TAPEFORM_DISPATCH(PhiloxBlocks);
  std::uint32_t edge[4];
  while (begin < end) {
    const std::uint64_t block = draw.first + static_cast<std::uint64_t>(begin / 4);
    if (begin % 4 == 0 && end - begin >= 4) {
      const Dim whole = (end - begin) / 4;
      blocks(block, draw.stream, draw.seed, whole, words);
      words += 4 * whole;
      begin += 4 * whole;
    } else {  // part of a block, at either end
      blocks(block, draw.stream, draw.seed, 1, edge);
      const Dim count = std::min(4 - begin % 4, end - begin);
      words = std::copy_n(edge + begin % 4, count, words);
      begin += count;
    }
  }
}

Array dropout(const Array& x, const DropoutDraw& draw) {
  if (draw.threshold >> 32) return Array::zeros(x.shape(), x.dtype());
  Array y(x.shape(), x.dtype());
  const DType dtype = x.dtype();
  const auto blocks = TAPEFORM_DISPATCH(PhiloxBlocks);
  const auto select = TAPEFORM_DISPATCH(SelectElements);
  dispatch(dtype, [&]<class T>(T) {
    const T* const from = x.data<T>();
    T* const to = y.mutable_data<T>();
    parallel_for(x.numel(), 1 << 14, [=](Dim begin, Dim end) {
      std::uint32_t words[piece];
      for (Dim i = begin; i < end; i += piece) {
        const Dim count = std::min(piece, end - i);
        blocks(draw.first + static_cast<std::uint64_t>(i / 4), draw.stream, draw.seed, (count + 3) / 4, words);
        select(dtype, from, to, words, static_cast<std::uint32_t>(draw.threshold), draw.factor, i, count);
      }
    });
  });
  return y;
}

}  // namespace tapeform::kernels

#endif
