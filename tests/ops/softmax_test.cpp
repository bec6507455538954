#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/softmax.hpp>
#include <tapeform/core/tape.hpp>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "ops/numbers.hpp"

using namespace tapeform;
using numbers::inf;

namespace {

const std::vector<DType> dtypes{DType::float32, DType::float64};

// softmax or its logarithm along the middle axis of [outer, n, inner], by the definition, in long double.
std::vector<double> reference(const Array& x, Dim outer, Dim n, Dim inner, bool log) {
  const std::vector<double> v = x.to_vector();
  std::vector<double> y(v.size());
  for (Dim o = 0; o < outer; ++o)
    for (Dim c = 0; c < inner; ++c) {
      const auto at = [&](Dim j) { return static_cast<std::size_t>((o * n + j) * inner + c); };
      long double sum = 0, max = -std::numeric_limits<long double>::infinity();
      for (Dim j = 0; j < n; ++j) max = std::max(max, static_cast<long double>(v[at(j)]));
      for (Dim j = 0; j < n; ++j) sum += std::exp(v[at(j)] - max);
      for (Dim j = 0; j < n; ++j) {
        const long double z = v[at(j)] - max;
        y[at(j)] = static_cast<double>(log ? z - std::log(sum) : std::exp(z) / sum);
      }
    }
  return y;
}

Array gradient(Tensor (*f)(const Tensor&, int), const Array& x0, const Array& dy) {
  Tape tape;
  const Tensor x = tape.watch(x0);
  tape.backward(f(x, -1), dy);
  return tape.grad(x);
}

}  // namespace

TEST_CASE("softmax and log_softmax by the definition, last axis of every width") {
  for (const DType dtype : dtypes)
    for (const Dim n : numbers::widths) {
      const Array x = numbers::random({3, n}, 11, dtype);
      CAPTURE(n, name(dtype));
      CHECK(numbers::distance(softmax(x).value(), reference(x, 3, n, 1, false)) <= numbers::tolerance(dtype));
      CHECK(numbers::distance(log_softmax(x).value(), reference(x, 3, n, 1, true)) <= numbers::tolerance(dtype));
    }
}

TEST_CASE("softmax and log_softmax by the definition, other axes") {
  for (const DType dtype : dtypes)
    for (const Dim inner : numbers::widths) {
      const Array x = numbers::random({2, 5, inner}, 12, dtype);
      CAPTURE(inner, name(dtype));
      CHECK(numbers::distance(softmax(x, 1).value(), reference(x, 2, 5, inner, false)) <= numbers::tolerance(dtype));
      CHECK(numbers::distance(log_softmax(x, -2).value(), reference(x, 2, 5, inner, true)) <= numbers::tolerance(dtype));
      CHECK(numbers::distance(softmax(x, 0).value(), reference(x, 1, 2, 5 * inner, false)) <= numbers::tolerance(dtype));
    }
}

TEST_CASE("softmax along another axis: a slice has the bits that it has beside one other, around 1,024 that go together") {
  for (const DType dtype : dtypes)
    for (const Dim inner : {2, 65, 1023, 1024, 1025, 2049}) {
      const Array x = numbers::random({5, inner}, 17, dtype), dy = numbers::random({5, inner}, 18, dtype);
      for (const auto f : {softmax, log_softmax}) {
        const auto of_columns = [&](Dim begin, Dim end) {  // value, gradient
          Tape tape;
          const Tensor part = tape.watch(slice(x, 1, begin, end).value());
          const Tensor y = f(part, 0);
          tape.backward(y, slice(dy, 1, begin, end).value());
          return std::pair(y.value(), tape.grad(part));
        };
        const auto [y, dx] = of_columns(0, inner);
        for (const Dim c : {Dim{0}, inner / 2, Dim{1021}, Dim{1022}, Dim{1023}, inner - 2}) {
          if (c + 2 > inner) continue;
          CAPTURE(name(dtype), inner, c);
          const auto [y_two, dx_two] = of_columns(c, c + 2);
          CHECK(same_bits(slice(y, 1, c, c + 2).value(), y_two));
          CHECK(same_bits(slice(dx, 1, c, c + 2).value(), dx_two));
        }
      }
    }
}

TEST_CASE("softmax and log_softmax: gradcheck") {
  for (const Dim n : {1, 2, 7, 8, 9, 17, 33, 65}) {
    CAPTURE(n);
    const Array rows = numbers::random({2, n}, 13), columns = numbers::random({2, 3, n}, 14);
    CHECK(gradcheck([](const Tensor& x) { return softmax(x); }, {rows}).error <= 1e-11);
    CHECK(gradcheck([](const Tensor& x) { return log_softmax(x); }, {rows}).error <= 1e-11);
    CHECK(gradcheck([](const Tensor& x) { return softmax(x, 1); }, {columns}).error <= 1e-11);
    CHECK(gradcheck([](const Tensor& x) { return log_softmax(x, 1); }, {columns}).error <= 1e-11);
  }
}

TEST_CASE("SL-01: log-softmax underflow", "[case]") {
  for (const DType dtype : dtypes) {
    const Array x = Array::of({3}, {-781, 890, -1235}, dtype);
    CHECK(log_softmax(x).value().to_vector() == std::vector<double>{-1671, 0, -2125});
    CHECK(softmax(x).value().to_vector() == std::vector<double>{0, 1, 0});
    const Array column = x.reshape({3, 1, 1});
    CHECK(log_softmax(column, 0).value().to_vector() == std::vector<double>{-1671, 0, -2125});
  }
}

TEST_CASE("softmax far from 0 keeps log n, and does not overflow") {
  const Array x = Array::of({2}, {1e8, 1e8}, DType::float32);
  CHECK(log_softmax(x).value().at({0}) == Catch::Approx(-0.6931472).epsilon(1e-6));
  CHECK(log_softmax(x.reshape({2, 1}), 0).value().at({0, 0}) == Catch::Approx(-0.6931472).epsilon(1e-6));
  CHECK(softmax(Array::of({2}, {3e38, -3e38})).value().to_vector() == std::vector<double>{1, 0});
}

TEST_CASE("softmax keeps weights that are denormal floats: their logarithm is finite") {
  const double least = std::exp(-95.0);  // 5.5e-42, 3935 steps of a denormal float
  const Array row = Array::of({2}, {0.0f, -95.0f}), column = row.reshape({2, 1});
  CHECK(std::abs(softmax(row, -1).value().to_vector()[1] / least - 1) < 3e-4);
  CHECK(std::abs(softmax(column, 0).value().to_vector()[1] / least - 1) < 3e-4);
}

TEST_CASE("a slice of -inf throughout: softmax 0, log_softmax -inf, gradients 0") {
  const std::vector<double> zeros(9, 0.0);
  for (const DType dtype : dtypes) {
    const Array rows = Array::full({9}, -inf, dtype), columns = Array::full({9, 1, 2}, -inf, dtype);
    CHECK(softmax(rows).value().to_vector() == zeros);
    CHECK(log_softmax(rows).value().to_vector() == std::vector<double>(9, -inf));
    CHECK(softmax(columns, 0).value().to_vector() == std::vector<double>(18, 0.0));
    CHECK(log_softmax(columns, 0).value().to_vector() == std::vector<double>(18, -inf));
    const Array dy = numbers::random({9}, 15, dtype);
    CHECK(gradient(softmax, rows, dy).to_vector() == zeros);
    CHECK(gradient(log_softmax, rows, dy).to_vector() == zeros);
    Tape tape;
    const Tensor x = tape.watch(columns);
    tape.backward(log_softmax(x, 0), numbers::random({9, 1, 2}, 16, dtype));
    CHECK(tape.grad(x).to_vector() == std::vector<double>(18, 0.0));
  }
}

TEST_CASE("an element of -inf takes no part: its place is 0, whatever gradient comes there") {
  const Array x = Array::of({4}, {1, -inf, 2, 1}, DType::float64);
  CHECK(softmax(x).value().at({1}) == 0);
  const Array clean = gradient(softmax, x, Array::of({4}, {1, 0, 3, -1}, DType::float64));
  CHECK(same_bits(gradient(softmax, x, Array::of({4}, {1, numbers::nan, 3, -1}, DType::float64)), clean));
  CHECK(clean.at({1}) == 0);
}

TEST_CASE("a NaN makes its slice NaN and no other") {
  for (const DType dtype : dtypes)
    for (const Dim n : {1, 9, 40})
      for (const double rest : {-inf, 0.5}) {
        for (const Dim at : {Dim{0}, n - 1}) {
          CAPTURE(n, at, rest, name(dtype));
          Array x = Array::full({2, n}, rest, dtype);
          dispatch(dtype, [&]<class T>(T) { x.mutable_data<T>()[at] = std::numeric_limits<T>::quiet_NaN(); });
          for (const Tensor& y : {softmax(x), log_softmax(x)})
            for (Dim j = 0; j < n; ++j) {
              CHECK(std::isnan(y.value().at({0, j})));
              CHECK_FALSE(std::isnan(y.value().at({1, j})));
            }
          const Array column = x.reshape({2, n, 1});
          CHECK(std::isnan(softmax(x.reshape({1, 2 * n}), 1).value().at({0, n})));
          CHECK(std::isnan(log_softmax(column, 0).value().at({0, at, 0})));
          CHECK(std::isnan(softmax(column, 0).value().at({1, at, 0})));
        }
      }
}

TEST_CASE("softmax of nothing") {
  CHECK(softmax(Array({0, 4})).shape() == Shape{0, 4});
  CHECK(softmax(Array({3, 0})).shape() == Shape{3, 0});
  CHECK(log_softmax(Array({3, 0, 2}), 1).shape() == Shape{3, 0, 2});
}

TEST_CASE("softmax: errors") {
  CHECK(message<ShapeError>([] { softmax(Array({2, 3}), 2); }) == "softmax: axis must be from -2 to 1; got axis 2, x [2, 3]");
  CHECK(message<ShapeError>([] { log_softmax(Array({2, 3}), -3); }) == "log_softmax: axis must be from -2 to 1; got axis -3, x [2, 3]");
  CHECK(message<ShapeError>([] { softmax(Array::ones({})); }) == "softmax: x must have an axis to sum over; got x []");
  CHECK(message<ShapeError>([] {
          masked_softmax(Array({2, 3}), Mask());
        }) == "masked_softmax: scores must be [B, Tq, Tk] or [B, H, Tq, Tk]; got scores [2, 3]");
}

TEST_CASE("masked_softmax is softmax over the visible keys alone") {
  const Array scores = numbers::random({2, 3, 4, 9}, 17);
  const Tensor y = masked_softmax(scores, Mask::valid_lens({9, 5}));
  CHECK(numbers::distance(y.value().rows(0, 1), softmax(scores.rows(0, 1)).value()) == 0);
  for (Dim h = 0; h < 3; ++h)
    for (Dim i = 0; i < 4; ++i) {
      std::vector<double> seen;
      for (Dim j = 0; j < 5; ++j) seen.push_back(scores.at({1, h, i, j}));
      const Array alone = softmax(Array::of({5}, std::span<const double>(seen))).value();
      for (Dim j = 0; j < 9; ++j)
        CHECK(y.value().at({1, h, i, j}) == (j < 5 ? Catch::Approx(alone.at({j})).epsilon(1e-14) : Catch::Approx(0)));
    }
}

TEST_CASE("masked_softmax: gradcheck, with a query that sees nothing") {
  const std::vector<bool> blocked{false, true, false, true, true, true, false, false, true};
  const Mask mask = Mask::block(blocked, {3, 3});
  const auto f = [&mask](const Tensor& x) { return masked_softmax(x, mask); };
  CHECK(gradcheck(f, {numbers::random({2, 3, 3}, 18)}).error <= 1e-11);
  CHECK(gradcheck(f, {numbers::random({2, 2, 3, 3}, 19)}).error <= 1e-11);
}

TEST_CASE("masked_softmax: hidden scores reach nothing") {
  for (const DType dtype : dtypes)
    for (const Dim Tk : {1, 7, 8, 9, 17, 33}) {
      const Array dy = numbers::random({2, 1, Tk}, 20, dtype), scores = numbers::random({2, 1, Tk}, 21, dtype);
      std::vector<bool> table(static_cast<std::size_t>(Tk), true);
      table[0] = false;
      for (const Mask& mask : {Mask::valid_lens({Tk, 0}), Mask::allow(table, {1, Tk}) & Mask::valid_lens({Tk, Tk - 1})})
        for (const double filler : {1e30, inf, -inf, numbers::nan}) {
          const auto run = [&](bool filled) {
            Array x = scores, upstream = dy;
            dispatch(dtype, [&]<class T>(T) {
              for (Dim b = 0; b < 2; ++b)
                for (Dim j = 0; j < Tk; ++j)
                  if (filled && !mask.row(b, 0, 0, 1, Tk).sees(j))
                    x.mutable_data<T>()[b * Tk + j] = upstream.mutable_data<T>()[b * Tk + j] = static_cast<T>(filler);
            });
            Tape tape;
            const Tensor watched = tape.watch(x), y = masked_softmax(watched, mask);
            tape.backward(y, upstream);
            return std::pair(y.value(), tape.grad(watched));
          };
          const auto [y, dx] = run(false);
          const auto [filled_y, filled_dx] = run(true);
          CAPTURE(Tk, filler, name(dtype));
          CHECK(same_bits(y, filled_y));
          CHECK(same_bits(dx, filled_dx));
          for (Dim j = 0; j < Tk; ++j)
            if (!mask.row(1, 0, 0, 1, Tk).sees(j)) CHECK((y.at({1, 0, j}) == 0 && dx.at({1, 0, j}) == 0));
        }
    }
}

TEST_CASE("softmax: same bits on one thread and two") {
  const Array x = numbers::random({301, 257}, 22, DType::float32), dy = numbers::random({301, 257}, 23, DType::float32);
  const Mask mask = Mask::valid_lens({100, 257, 3, 0, 17, 200, 31});
  CHECK(numbers::same_on_two_threads([&]() -> std::vector<Array> {
    return {softmax(x).value(),       log_softmax(x, 0).value(),    softmax(x, 0).value(),
            gradient(softmax, x, dy), gradient(log_softmax, x, dy), masked_softmax(x.reshape({7, 43, 257}), mask).value()};
  }));
}
