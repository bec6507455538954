#include <cmath>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"

using namespace tapeform;

namespace {

using Numbers = std::vector<double>;

const Array table = Array::of({2, 3}, {1, 2, 3, 10, 20, 30});

Array counted(const Shape& shape) {
  Array x(shape, DType::float64);
  for (Dim i = 0; i < x.numel(); ++i) x.mutable_data<double>()[i] = 0.3 * static_cast<double>(i % 7) - 0.8;
  return x;
}

}  // namespace

TEST_CASE("sum and mean: any axes, kept or not") {
  const Tensor x(table);
  CHECK(sum(x).shape() == Shape{});
  CHECK(sum(x).item() == 66);
  CHECK(mean(x).item() == 11);
  CHECK(sum(x, {0}).value().to_vector() == Numbers{11, 22, 33});
  CHECK(sum(x, {-1}).value().to_vector() == Numbers{6, 60});
  CHECK(mean(x, {1}).value().to_vector() == Numbers{2, 20});
  CHECK(sum(x, {1, 0}).item() == 66);
  CHECK(sum(x, {0}, {.keepdims = true}).shape() == Shape{1, 3});
  CHECK(mean(x, {0, -1}, {.keepdims = true}).shape() == Shape{1, 1});
  CHECK(mean(x, {0, 1}, {.keepdims = true}).item() == 11);
  const std::vector<int> axes = {1};
  CHECK(sum(x, axes).value().to_vector() == Numbers{6, 60});
  CHECK(sum(x, std::vector<int>{}).value().to_vector() == table.to_vector());
  CHECK(std::isnan(mean(Tensor(Array(Shape{0}))).item()));
  CHECK(sum(Tensor(Array::of({}, {5}))).item() == 5);
}

TEST_CASE("sum and mean: gradients") {
  struct Case {
    Shape shape;
    std::vector<int> axes;
  };
  const Case cases[] = {{{5}, {0}},           {{3, 4}, {0}},    {{3, 4}, {1}}, {{3, 4}, {0, 1}},       {{2, 3, 4}, {1}},
                        {{2, 3, 4}, {-1, 0}}, {{2, 1, 3}, {1}}, {{3, 4}, {}},  {{2, 3, 2, 3}, {0, 2}}, {{65}, {0}},
                        {{9, 17}, {0}},       {{17, 9}, {1}},   {{1, 1}, {0}}, {{33, 2}, {-2}}};
  for (const Case& c : cases)
    for (const bool keepdims : {false, true}) {
      INFO("x " << c.shape.str() << ", " << c.axes.size() << " axes");
      const std::vector<Array> x = {counted(c.shape)};
      const GradcheckReport of_sum = gradcheck([&c, keepdims](const Tensor& t) { return sum(t * t, c.axes, {.keepdims = keepdims}); }, x);
      const GradcheckReport of_mean = gradcheck([&c, keepdims](const Tensor& t) { return mean(t * t, c.axes, {.keepdims = keepdims}); }, x);
      INFO(of_sum.str() << "; " << of_mean.str());
      CHECK(of_sum.ok(1e-11));
      CHECK(of_mean.ok(1e-11));
    }
  Tape tape;
  const Tensor x = tape.watch(table);
  tape.backward(mean(x) * 3.0);
  CHECK(tape.grad(x).to_vector() == Numbers(6, 0.5));
}

TEST_CASE("AG-45: sum and mean of 1,392,640 numbers of 0.1 in float32", "[case]") {
  const Tensor x(Array::full({1392640}, 0.1));
  CHECK(sum(x).item() == Catch::Approx(139264.0).margin(0.2));
  CHECK(mean(x).item() == Catch::Approx(0.1).epsilon(1e-7));
}

TEST_CASE("sum and mean: errors") {
  const Tensor x(table);
  CHECK_THROWS_AS(sum(x, {2}), ShapeError);
  CHECK_THROWS_WITH(sum(x, {2}), Equals("sum: axis 2 is not there; got x [2, 3]. Axes run from -2 to 1"));
  CHECK_THROWS_WITH(mean(x, {-3}), Equals("mean: axis -3 is not there; got x [2, 3]. Axes run from -2 to 1"));
  CHECK_THROWS_WITH(sum(x, {0, -2}), Equals("sum: axis 0 is given twice; got x [2, 3]. Name each axis once"));
  CHECK_THROWS_WITH(mean(Tensor(Array::of({}, {1})), {0}), Equals("mean: axis 0 is not there; got x []. A scalar has no axes"));
}
