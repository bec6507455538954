#include <string>
#include <tapeform/core/random.hpp>
#include <vector>

#include "catch.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/dropout.hpp"
#include "kernels/isa.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/softmax.hpp"
#include "ops/numbers.hpp"

// What softmax, layer norm, dropout and the losses compute must not depend on the vector level, beyond rounding.

using namespace tapeform;

namespace {

struct IsaScope {
  std::string before = kernels::isa_name();
  ~IsaScope() { kernels::set_isa(before); }
};

// Results of every kernel at one width.
std::vector<Array> results(Dim n, DType dtype) {
  const Array x = numbers::random({3, n}, 1, dtype), dy = numbers::random({3, n}, 2, dtype), w = numbers::random({n}, 3, dtype);
  const kernels::AxisSplit rows(x.shape(), 1), columns(x.shape(), 0);
  const Array y = kernels::softmax(x, rows), log_y = kernels::log_softmax(x, columns);
  const auto norm = kernels::layer_norm(x, w, w, 1e-5);
  const auto gradients = kernels::layer_norm_backward(dy, x, w, norm.stats, true, true, true);
  const kernels::TargetDistribution q{Ids{0, n - 1, n / 2}, -1, .1, Array(), n, 3};
  const auto loss = kernels::cross_entropy(x, q);
  return {y,
          log_y,
          kernels::softmax_backward(dy, y, rows),
          kernels::log_softmax_backward(dy, log_y, columns),
          norm.y,
          gradients.dx,
          gradients.dweight,
          gradients.dbias,
          loss.losses,
          kernels::cross_entropy_backward(x, loss.stats, q, Array::full({}, 1, dtype), .5)};
}

}  // namespace

TEST_CASE("softmax, layer norm and losses agree at every vector level") {
  const IsaScope scope;
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Dim n : numbers::widths) {
      kernels::set_isa(kernels::isa_names().back());
      const std::vector<Array> plain = results(n, dtype);
      for (const std::string& isa : kernels::isa_names()) {
        kernels::set_isa(isa);
        const std::vector<Array> here = results(n, dtype);
        CAPTURE(isa, n, name(dtype));
        for (std::size_t i = 0; i < here.size(); ++i) {
          CAPTURE(i);
          // Rows of two, nearly equal numbers magnify the rounding of their difference.
          CHECK(numbers::distance(here[i], plain[i]) <= (dtype == DType::float32 ? 1e-4 : 1e-13));
        }
      }
    }
}

TEST_CASE("dropout draws the generator's words at every vector level, from any element to any other") {
  const IsaScope scope;
  Rng rng = Rng((std::uint64_t{5} << 40) + 17).stream((std::uint64_t{3} << 35) + 1);
  rng.reserve((std::uint64_t{1} << 32) - 20);  // counters pass 32 bits on the way
  const kernels::DropoutDraw draw(rng, .5, 400);
  for (const std::string& isa : kernels::isa_names()) {
    kernels::set_isa(isa);
    for (const Dim begin : {0, 1, 3, 4, 6, 101})
      for (const Dim count : {0, 1, 2, 3, 4, 5, 9, 63, 64, 65, 256}) {
        std::vector<std::uint32_t> words(static_cast<std::size_t>(count) + 1, 7);
        kernels::dropout_words(draw, begin, begin + count, words.data());
        bool right = words.back() == 7;  // nothing beyond
        for (Dim i = 0; i < count; ++i) {
          const auto block = philox(draw.first + static_cast<std::uint64_t>((begin + i) / 4), draw.stream, draw.seed);
          right = right && words[static_cast<std::size_t>(i)] == block[static_cast<std::size_t>((begin + i) % 4)];
        }
        CAPTURE(isa, begin, count);
        CHECK(right);
      }
  }
}
