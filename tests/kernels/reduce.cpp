#include "kernels/reduce.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "kernels/isa.hpp"

using namespace tapeform;

namespace {

// Sums over the axes in `bits`, one element after the other.
std::vector<double> sums(const Array& x, std::uint32_t bits, const Shape& kept) {
  std::vector<double> y(static_cast<std::size_t>(kept.numel()), 0.0);
  const std::vector<double> numbers = x.to_vector();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Dim index = static_cast<Dim>(i), place = 0, step = 1;
    for (int axis = x.rank() - 1; axis >= 0; --axis) {
      if (!(bits >> axis & 1u)) {
        place += index % x.dim(axis) * step;
        step *= x.dim(axis);
      }
      index /= x.dim(axis);
    }
    y[static_cast<std::size_t>(place)] += numbers[i];
  }
  return y;
}

void check_sums(const Shape& shape) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    std::vector<double> numbers(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.125 * static_cast<double>(i * 7 % 61) - 3;  // sums are exact
    const Array x = Array::of(shape, std::span<const double>(numbers)).cast(dtype);
    for (std::uint32_t bits = 0; bits < (1u << shape.rank()); ++bits) {
      Shape kept, kept_as_1;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (!(bits >> axis & 1u)) kept.push_back(shape[axis]);
        kept_as_1.push_back(bits >> axis & 1u ? 1 : shape[axis]);
      }
      INFO("shape " << shape.str() << ", axes " << bits << ", " << name(dtype));
      const Array y = kernels::sum(x, bits, kept);
      REQUIRE(y.shape() == kept);
      REQUIRE(y.dtype() == dtype);
      REQUIRE(y.to_vector() == sums(x, bits, kept));
      REQUIRE(kernels::sum_to(x, kept_as_1).to_vector() == y.to_vector());
      REQUIRE(kernels::sum(x, bits, kept, 4).to_vector() == kernels::sum(x, bits, kept_as_1, 4).to_vector());
    }
  }
}

}  // namespace

TEST_CASE("sums over any axes are those of nested loops, at every vector level") {
  const std::string before = kernels::isa_name();
  for (const std::string& level : kernels::isa_names()) {
    kernels::set_isa(level);
    for (const Dim n : {1, 3, 4, 5, 7, 8, 9, 16, 17, 33, 65}) {
      check_sums({n});
      check_sums({n, 3});
      check_sums({3, n});
      check_sums({2, n, 5});
      check_sums({n, 2, n});
    }
    check_sums({});
    check_sums({2, 3, 4, 5});
    check_sums({2, 1, 3, 1, 2});
    check_sums({3, 511});
    check_sums({6, 513});
    check_sums({2, 5, 1030});
  }
  kernels::set_isa(before);
}

TEST_CASE("sums of nothing are 0, their means NaN") {
  const Array x(Shape{0, 3});
  CHECK(kernels::sum(x, 1, {3}).to_vector() == std::vector<double>{0, 0, 0});
  CHECK(kernels::sum(x, 2, {0}).numel() == 0);
  CHECK(kernels::sum(x, 3, {}).item() == 0);
  CHECK(std::isnan(kernels::sum(x, 3, {}, 0).item()));
}

TEST_CASE("AG-45: a sum of 1,392,640 numbers of 0.1 in float32", "[case]") {
  const Dim n = 1392640;
  const Array x = Array::full({n}, 0.1);
  CHECK(kernels::sum(x, 1, {}).item() == Catch::Approx(139264.0).margin(0.2));
  CHECK(kernels::sum(x, 1, {}, static_cast<double>(n)).item() == Catch::Approx(0.1).epsilon(1e-7));
  // The gradients of a bias, of 1, 8 and 640 numbers, take the same care.
  for (const Dim width : {1, 8, 640})
    for (const double total : kernels::sum_to(x.reshape({n / width, width}), {width}).to_vector())
      REQUIRE(total == Catch::Approx(139264.0 / static_cast<double>(width)).epsilon(1.5e-7));
  float running = 0;
  for (const float number : x.values<float>()) running += number;
  CHECK(running > 140000.0f);  // what one float accumulator makes of it
}

TEST_CASE("a sum is right where large numbers cancel") {
  for (const Dim n : {3, 40, 40000}) {
    std::vector<float> numbers(static_cast<std::size_t>(n), 0.0f);
    numbers[0] = 1e8f, numbers[1] = 1.0f, numbers[static_cast<std::size_t>(n) - 1] = -1e8f;
    CHECK(kernels::sum(Array::of({n}, std::span<const float>(numbers)), 1, {}).item() == 1.0);
    CHECK(kernels::sum_to(Array::of({n, 1}, std::span<const float>(numbers)), {1, 1}).item() == 1.0);
  }
}
