#include <cmath>
#include <limits>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;

// On both sides of 0, at least 0.1 from it.
Array spread(Dim n) {
  Array x({n}, DType::float64);
  for (Dim i = 0; i < n; ++i) x.mutable_data<double>()[i] = -2.79 + 1.37 * static_cast<double>(i % 5) + 0.003 * static_cast<double>(i);
  return x;
}

}  // namespace

TEST_CASE("relu: values, its gradient, 0 at 0") {
  Tape tape;
  const Tensor x = tape.watch(Array::of({4}, {-2, 0, 3, 0.5}));
  const Tensor y = relu(x);
  CHECK(y.value().to_vector() == Numbers{0, 0, 3, 0.5});
  tape.backward(y, Array::of({4}, {10, 20, 30, 40}));
  CHECK(tape.grad(x).to_vector() == Numbers{0, 0, 30, 40});
  for (const Dim n : {1, 7, 8, 9, 17, 33, 65}) {
    const GradcheckReport report = gradcheck([](const Tensor& t) { return relu(t); }, {spread(n)});
    INFO(report.str());
    CHECK(report.ok(1e-11));
  }
}

TEST_CASE("AG-39: relu passes NaN on, and its gradient too", "[case]") {
  // The case's other two stand with `clamp` and with the reductions.
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Dim n : {1, 7, 8, 9, 33})
      for (Dim at = 0; at < n; ++at) {
        Numbers numbers(static_cast<std::size_t>(n), -1.0);
        numbers[static_cast<std::size_t>(at)] = not_a_number;
        Tape tape;
        const Tensor x = tape.watch(Array::of({n}, std::span<const double>(numbers)).cast(dtype));
        const Tensor y = relu(x);
        REQUIRE(std::isnan(y.value().at({at})));
        tape.backward(y * y, Array::ones({n}, dtype));
        const Array& dx = tape.grad(x);
        for (Dim i = 0; i < n; ++i) REQUIRE((i == at ? std::isnan(dx.at({i})) : dx.at({i}) == 0.0));
      }
}

TEST_CASE("gelu: gradients of both forms") {
  for (const Dim n : {1, 7, 8, 9, 17, 33, 65})
    for (const GeluForm form : {GeluForm::none, GeluForm::tanh}) {
      const GradcheckReport report = gradcheck([form](const Tensor& x) { return gelu(x, {.approximate = form}); }, {spread(n)});
      INFO(report.str());
      CHECK(report.ok(1e-11));
    }
}

TEST_CASE("gelu: the erf form by default, values of both") {
  const Array x = Array::of({3}, {-1, 0.5, 2}, DType::float64);
  const Numbers erf_form = gelu(Tensor(x)).value().to_vector();
  const Numbers tanh_form = gelu(Tensor(x), {.approximate = GeluForm::tanh}).value().to_vector();
  const double by_erf[] = {-0.158655253931457, 0.345731230637007, 1.95449973610364};
  const double by_tanh[] = {-0.158808009391723, 0.345714009825144, 1.95459769408777};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(erf_form[i] == Catch::Approx(by_erf[i]).epsilon(1e-14));
    CHECK(tanh_form[i] == Catch::Approx(by_tanh[i]).epsilon(1e-14));
  }
}

TEST_CASE("gelu: the tail keeps its bits in float32, limits at infinity") {
  const float inf = std::numeric_limits<float>::infinity();
  const Array x = Array::of({4}, {-10, -13, inf, -inf});
  // ½·x·(1 + erf(x/√2)) in float32 is 0 at both.
  const Array y = gelu(Tensor(x)).value();
  CHECK(y.at({0}) == Catch::Approx(-7.61985302416059e-23).epsilon(4e-7));
  CHECK(y.at({1}) == Catch::Approx(-7.9523137194149e-38).epsilon(4e-7));
  CHECK(y.at({2}) == inf);
  CHECK(y.at({3}) == 0);
  CHECK(gelu(Tensor(x), {.approximate = GeluForm::tanh}).value().at({3}) == 0);
}
