#include "snake.hpp"

#include <tapeform/testing.hpp>

using namespace tapeform;

namespace {

Array drawn(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  return normal(shape, 0, 1, rng, DType::float64);
}

}  // namespace

TEST_CASE("snake: its numbers") {
  const Array x = array_of({{0, 1}, {-1, 2}}, DType::float64), a = array_of({1, 2}, DType::float64);
  CHECK_THAT(snake(x, a).value(),
             IsClose(array_of({{0, 1.413410905215903}, {-0.2919265817264288, 2.2863750084521532}}, DType::float64), {.rtol = 1e-12}));
}

TEST_CASE("snake: its derivatives, alone and within modules") {
  const Array a = array_of({0.7, -1.3, 2}, DType::float64);
  REQUIRE_THAT(gradients(snake, drawn({4, 3}, 1), a), GradientsMatch({.tolerance = 1e-10}));
  REQUIRE_THAT(gradients(snake, drawn({0, 3}, 1), a), GradientsMatch({.tolerance = 1e-10}));
  REQUIRE_THAT(gradients(snake, drawn({3}, 1), a), GradientsMatch({.tolerance = 1e-10}));
  Rng rng(2);
  Wave wave(5, rng);
  nn::cast(wave, DType::float64);
  REQUIRE_THAT(gradients(wave, drawn({6, 1}, 3)), GradientsMatch());
}

TEST_CASE("snake: a wrong derivative is found") {
  const auto halved = [](const Tensor& x, const Tensor& a) {
    return record("halved", snake(x, a).value(),
                  wrt(x, [X = x.value(), A = a.value()](const Array& dy) { return (Tensor(dy) * 0.5).value(); }));
  };
  REQUIRE_THAT(gradients(halved, drawn({4, 3}, 1), drawn({3}, 2)), !GradientsMatch());
}

TEST_CASE("snake: its errors, with the module's path") {
  Rng rng(2);
  const Wave wave(5, rng);
  CHECK_THROWS_WITH(snake(Array::ones({2, 3}), Array::ones({2})), "snake: x must be [..., D] and a [D]; got x [2, 3], a [2]");
  CHECK_THROWS_WITH(wave.bend(Array::ones({2, 5}, DType::float64)),
                    "Snake: snake: dtypes must agree; got x float64, a float32. Use cast()");
}
