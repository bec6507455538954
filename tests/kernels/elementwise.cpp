#include "kernels/elementwise.hpp"

#include <cmath>
#include <limits>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parallel.hpp>
#include <vector>

#include "catch.hpp"
#include "kernels/accumulate.hpp"
#include "kernels/isa.hpp"
#include "kernels/reduce.hpp"
#include "threads.hpp"

using namespace tapeform;
using namespace tapeform::kernels;

namespace {

// Numbers that differ from place to place, none of them 0.
Array filled(const Shape& shape, DType dtype, double from) {
  Array x(shape, dtype);
  dispatch(dtype, [&]<class T>(T) {
    x.write<T>([&](std::span<T> numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<T>(from + 0.25 * static_cast<double>(i % 23));
    });
  });
  return x;
}

// Position in an operand of the result's element at `index`, worked out axis by axis.
std::size_t place_of(const Shape& operand, const Shape& result, Dim index) {
  Dim place = 0, step = 1;
  for (int back = 1; back <= result.rank(); ++back) {
    const Dim at = index % result[-back];
    index /= result[-back];
    if (back > operand.rank()) continue;
    if (operand[-back] != 1) place += at * step;
    step *= operand[-back];
  }
  return static_cast<std::size_t>(place);
}

double apply(Binary op, double a, double b) {
  return op == Binary::add ? a + b : op == Binary::sub ? a - b : op == Binary::mul ? a * b : a / b;
}

void check_broadcast(const Shape& a_shape, const Shape& b_shape, const Shape& result) {
  INFO("a " << a_shape.str() << ", b " << b_shape.str());
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Array a = filled(a_shape, dtype, 0.5), b = filled(b_shape, dtype, -7.125);
    const std::vector<double> x = a.to_vector(), y = b.to_vector();
    for (const Binary op : {Binary::add, Binary::sub, Binary::mul, Binary::div}) {
      const Array c = binary(op, a, b, result);
      REQUIRE(c.shape() == result);
      const std::vector<double> z = c.to_vector();
      for (std::size_t i = 0; i < z.size(); ++i) {
        const Dim index = static_cast<Dim>(i);
        const double right = apply(op, x[place_of(a_shape, result, index)], y[place_of(b_shape, result, index)]);
        REQUIRE(z[i] == (dtype == DType::float32 ? static_cast<float>(right) : right));
      }
    }
    // The transposes: copies out, sums back.
    const Array spread = broadcast_to(a, result);
    for (Dim i = 0; i < result.numel(); ++i) REQUIRE(spread.to_vector()[static_cast<std::size_t>(i)] == x[place_of(a_shape, result, i)]);
    const std::vector<double> back = sum_to(spread, a_shape).to_vector();
    const double times = a.numel() == 0 ? 0.0 : static_cast<double>(result.numel()) / static_cast<double>(a.numel());
    for (std::size_t i = 0; i < back.size(); ++i) REQUIRE(back[i] == x[i] * times);
  }
}

}  // namespace

TEST_CASE("binary kernels broadcast like nested loops") {
  for (const Dim n : {1, 7, 8, 9, 17, 33, 65}) {
    check_broadcast({n}, {n}, {n});
    check_broadcast({n}, {}, {n});
    check_broadcast({}, {n}, {n});
    check_broadcast({3, n}, {n}, {3, n});
    check_broadcast({n}, {3, n}, {3, n});
    check_broadcast({n, 1}, {n, 5}, {n, 5});
    check_broadcast({n, 5}, {n, 1}, {n, 5});
    check_broadcast({n, 1}, {1, 4}, {n, 4});
    check_broadcast({2, 1, n}, {3, 1}, {2, 3, n});
    check_broadcast({2, n, 1, 3}, {n, 4, 3}, {2, n, 4, 3});
  }
  check_broadcast({}, {}, {});
  check_broadcast({1, 1}, {1}, {1, 1});
  check_broadcast({2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5});
  check_broadcast({2, 1, 4, 1, 2}, {3, 1, 5, 1}, {2, 3, 4, 5, 2});
  check_broadcast({0}, {1}, {0});
  check_broadcast({4, 0}, {4, 1}, {4, 0});
  check_broadcast({3, 1, 0}, {2, 1}, {3, 2, 0});
}

TEST_CASE("binary kernels with one number, from either side") {
  const Array x = Array::of({5}, {1, 2, 4, -8, 0.5});
  CHECK(binary(Binary::sub, x, 2.0).to_vector() == std::vector<double>{-1, 0, 2, -10, -1.5});
  CHECK(binary(Binary::sub, 2.0, x).to_vector() == std::vector<double>{1, 0, -2, 10, 1.5});
  CHECK(binary(Binary::div, x, 4.0).to_vector() == std::vector<double>{0.25, 0.5, 1, -2, 0.125});
  CHECK(binary(Binary::div, 1.0, x).to_vector() == std::vector<double>{1, 0.5, 0.25, -0.125, 2});
  CHECK(scale(x, 0.5).to_vector() == std::vector<double>{0.5, 1, 2, -4, 0.25});
}

TEST_CASE("adding in place leaves those who share the buffer alone") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Array a = Array::of({3}, {1, 2, 3}, dtype);
    const Array before = a;
    add_into(a, Array::of({3}, {10, 20, 30}, dtype));
    CHECK(a.to_vector() == std::vector<double>{11, 22, 33});
    CHECK(before.to_vector() == std::vector<double>{1, 2, 3});
    const std::uint64_t copies = memory_stats().copies;
    add_scaled_into(a, -2, before);
    CHECK(a.to_vector() == std::vector<double>{9, 18, 27});
    add_into(a, a);
    CHECK(a.to_vector() == std::vector<double>{18, 36, 54});
    CHECK(memory_stats().copies == copies);
  }
}

TEST_CASE("AG-39: relu keeps NaN at every place of every length", "[case]") {
  const std::string before = isa_name();
  for (const std::string& level : isa_names()) {
    set_isa(level);
    for (const DType dtype : {DType::float32, DType::float64})
      for (const Dim n : {1, 7, 8, 9, 33})
        for (Dim at = 0; at < n; ++at) {
          std::vector<double> numbers(static_cast<std::size_t>(n), -1.0);
          numbers[static_cast<std::size_t>(at)] = std::numeric_limits<double>::quiet_NaN();
          const Array x = Array::of({n}, std::span<const double>(numbers)).cast(dtype);
          const std::vector<double> y = unary(Unary::relu, x).to_vector();
          for (Dim i = 0; i < n; ++i)
            REQUIRE((i == at ? std::isnan(y[static_cast<std::size_t>(i)]) : y[static_cast<std::size_t>(i)] == 0.0));
        }
  }
  set_isa(before);
}

TEST_CASE("element-wise kernels and sums: the same bits with one thread and two") {
  const Shape shape{515, 517};
  const Array x = filled(shape, DType::float32, -2.6), row = filled({517}, DType::float32, 0.3),
              column = filled({515, 1}, DType::float32, 1);
  const auto results = [&] {
    std::vector<Array> all;
    for (const Unary op : {Unary::exp, Unary::tanh, Unary::relu, Unary::gelu_erf, Unary::gelu_tanh}) all.push_back(unary(op, x));
    all.push_back(binary(Binary::mul, x, row, shape));
    all.push_back(binary(Binary::div, x, column, shape));
    all.push_back(binary(Binary::gelu_erf_gradient, x, x));
    all.push_back(broadcast_to(column, shape));
    all.push_back(sum(x, 3, {}));
    all.push_back(sum(x, 1, {517}));
    all.push_back(sum(x, 2, {515}));
    all.push_back(sum(x.reshape({5, 103, 517}), 5, {103}));
    return all;
  };
  const std::vector<Array> alone = [&results] {
    const Threads only(1);
    return results();
  }();
  const Threads both(2);
  for (int round = 0; round < 3; ++round)
    CHECK(until_helped([&] {
      const std::vector<Array> together = results();
      for (std::size_t i = 0; i < alone.size(); ++i) REQUIRE(same_bits(alone[i], together[i]));
    }));
}
