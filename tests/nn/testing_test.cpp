#include <tapeform/core/creation.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/feed_forward.hpp>
#include <tapeform/nn/linear.hpp>
#include <tapeform/testing.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

/// y = x² with a derivative that lost `factor`, at the last element alone when asked.
Tensor square(const Tensor& x, double factor = 1, bool last_only = false) {
  return record("square", (stop_gradient(x) * x.value()).value(), wrt(x, [X = x.value(), factor, last_only](const Array& dy) {
                  Array dx = (Tensor(dy) * Tensor(X) * 2.0).value();
                  dx.write<double>([&](std::span<double> v) {
                    for (std::size_t i = last_only ? v.size() - 1 : 0; i < v.size(); ++i) v[i] *= factor;
                  });
                  return dx;
                }));
}

Tensor plain_square(const Tensor& x) { return square(x); }

struct Scaled : nn::Module<Scaled> {
  nn::Linear map;
  double factor;
  Scaled(Rng& rng, double wrong_by) : map(3, 2, rng), factor(wrong_by) {}
  Tensor forward(const Tensor& x) const { return square(map(x), factor); }
  void visit(nn::Fields& field) { field("map", map); }
};

/// What a failing REQUIRE_THAT would print.
template <class M, class T>
std::string explanation(const T& subject, const M& matcher) {
  if (matcher.match(subject)) return "matched";
  return Catch::Detail::stringify(subject) + " " + matcher.toString();
}

}  // namespace

TEST_CASE("testing: functions, lambdas and modules match their derivatives") {
  Rng rng(1);
  const Array x = drawn({4, 3}, 1);
  REQUIRE_THAT(gradients(plain_square, x), GradientsMatch());
  REQUIRE_THAT(gradients(&plain_square, x), GradientsMatch());
  REQUIRE_THAT(gradients([](const Tensor& a, const Tensor& b) { return a * b; }, x, drawn({3}, 2)), GradientsMatch());
  REQUIRE_THAT(gradients([](const std::vector<Tensor>& t) { return t[0] * t[1] + t[2] / (1.0 + t[3] * t[3]); }, x, x, x, x),
               GradientsMatch());
  const auto module = exact(Scaled(rng, 1));
  REQUIRE_THAT(gradients(module, x), GradientsMatch());
  REQUIRE_THAT(gradients(exact(nn::Linear(3, 2, rng)), x), GradientsMatch());
  const auto mha = exact(nn::MultiHeadAttention(6, 2, rng, {.dropout = 0.3}));
  REQUIRE_THAT(gradients(
                   mha, [&](const Tensor& q) { return mha(q, q, q, {.mask = Mask::causal()}); }, drawn({2, 4, 6}, 3)),
               GradientsMatch());
  REQUIRE_THAT(gradients(module,
                         [&](const std::vector<Tensor>&) {
                           return module(array_of({{1, 2, 3}}, DType::float64));
                         }),
               GradientsMatch());
  REQUIRE_THAT(gradients(exact(nn::FeedForward(3, 40, rng)), drawn({9, 3}, 5)), GradientsMatch({.directions = 4}));
}

TEST_CASE("testing: a wrong derivative is named by op, tensor, index and numbers") {
  Rng rng(1);
  const Array x = array_of({{1, 2, 3}}, DType::float64);
  const auto lost = [](const Tensor& t) { return square(t, 0.5, true); };
  const std::string text = explanation(gradients(lost, x), GradientsMatch());
  CHECK_THAT(text,
             Contains("gradients at float64 [1, 3] match differences\ngradcheck of square: worst of 3 entries: input 0 [0, 2]: analytic "));
  CHECK_THAT(text, Contains("\nwrong: input 0 [0, 2]: analytic "));

  const auto module = exact(Scaled(rng, 1.1));
  const std::string all = explanation(gradients(module, x), GradientsMatch());
  CHECK_THAT(all, Contains("gradients at float64 [1, 3], with 2 parameters match differences\ngradcheck of linear, square: worst of "));
  CHECK_THAT(all, Contains("\nwrong: input 0 [0, "));
  CHECK_THAT(all, Contains("\nwrong: map.weight ["));
  CHECK_THAT(all, Contains("\nwrong: map.bias ["));
}

TEST_CASE("testing: tolerance, sample and directions are the caller's") {
  const auto near = [](const Tensor& t) { return square(t, 1 + 1e-6); };
  const Array x = drawn({20, 20}, 1);
  CHECK_FALSE(GradientsMatch().match(gradients(near, x)));
  CHECK(GradientsMatch({.tolerance = 1e-4}).match(gradients(near, x)));
  CHECK_FALSE(GradientsMatch({.directions = 2}).match(gradients(near, x)));
  const auto at_the_end = [](const Tensor& t) { return square(t, 2, true); };
  CHECK_FALSE(GradientsMatch({.sample = 4}).match(gradients(at_the_end, x)));  // a sample holds the last entry
  CHECK_THAT(explanation(gradients(at_the_end, x), GradientsMatch({.directions = 2})), Contains("input 0 along direction "));
}

TEST_CASE("testing: an input at a kink says so instead of failing at random") {
  // |x| with 0.3 for its derivative at 0: between those of the two sides, which a difference cannot judge.
  const auto odd = [](const Tensor& t) {
    return record(
        "odd", abs(t).value(), wrt(t, [X = t.value()](const Array& dy) {
          return (Tensor(dy) * where(equal_to(X, 0.0), 0.3, where(Tensor(X) > 0.0, Array::ones(X.shape(), X.dtype()), -1.0))).value();
        }));
  };
  const Array x = array_of({1, 0, -2}, DType::float64);
  CHECK_THAT(explanation(gradients(odd, x), GradientsMatch()),
             Contains("\n1 entry is at a kink, where a difference means nothing: input 0 [1]: left ") &&
                 Contains("Move the input, or skip kinks"));
  CHECK(GradientsMatch({.skip_kinks = true}).match(gradients(odd, x)));
  CHECK(GradientsMatch().match(gradients([](const Tensor& t) { return abs(t); }, x)));  // the library's 0 is what differences say
  CHECK(GradientsMatch().match(gradients(relu, x)));                                    // and this is the derivative from the left
}

TEST_CASE("testing: float32 is refused unless allowed; nothing to check is no match") {
  const Array x = drawn({5}, 1).cast(DType::float32);
  CHECK(message<DTypeError>([&] { GradientsMatch().match(gradients(relu, x)); }) ==
        "gradcheck: differences need float64; got input 0 [5] float32. Use cast(DType::float64), or allow_float32 with a tolerance near "
        "1e-3");
  REQUIRE_THAT(gradients([](const Tensor& t) { return tanh(t); }, x), GradientsMatch({.allow_float32 = true}));
  Rng rng(1);
  const nn::Linear single(3, 2, rng);
  REQUIRE_THAT(gradients(single, drawn({4, 3}, 1).cast(DType::float32)), GradientsMatch({.allow_float32 = true}));
  CHECK_THAT(explanation(gradients(relu, Array::zeros({0}, DType::float64)), GradientsMatch()),
             Contains("gradcheck of relu: nothing to check"));
}

TEST_CASE("testing: arrays are compared, and differences have a place") {
  const Array x = array_of({{1, 2}, {3, 4}});
  CHECK_THAT(x, IsClose(array_of({{1, 2}, {3, 4}})));
  CHECK_THAT(x, IsClose(array_of({{1, 2}, {3, 4.1}}), {.rtol = 0.1}));
  CHECK_THAT(explanation(x, IsClose(array_of({{1, 2}, {3, 5}}))),
             Contains("is close to what is expected: 1 of 4 elements differ: first [1, 1], 4 for 5"));
}
