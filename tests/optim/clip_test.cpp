#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/update.hpp>
#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/clip.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;
using optim::clip_grad_norm;
using optim::NonFinite;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

/// A hundred parameters of one number, each with the gradient `g`.
struct Hundred {
  std::vector<Parameter> all;
  std::vector<ParameterRef> refs;
  explicit Hundred(double g, DType dtype = DType::float32) {
    for (int i = 0; i < 100; ++i) {
      all.emplace_back(Array::ones({1}, dtype));
      refs.push_back(all.back().ref());
      refs.back().grad() = Array::full({1}, g, dtype);
    }
  }
  void set(std::size_t i, double g) { refs[i].grad() = Array::full({1}, g, refs[i].dtype()); }
};

}  // namespace

TEST_CASE("OP-10: clipping overflow and non-finite", "[case]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Hundred ones(1.0, dtype);
    CHECK(clip_grad_norm(ones.refs, 1.0) == Catch::Approx(10.0));
    for (const ParameterRef& p : ones.refs) CHECK(p.grad().item() == Catch::Approx(0.1).epsilon(1e-6));

    Hundred huge(1e20, dtype);
    CHECK(clip_grad_norm(huge.refs, 1.0) == Catch::Approx(1e21));
    for (const ParameterRef& p : huge.refs) CHECK(p.grad().item() == Catch::Approx(0.1).epsilon(1e-6));

    Hundred zero(0.0, dtype);
    CHECK(clip_grad_norm(zero.refs, 1.0) == 0.0);
    CHECK(zero.refs[5].grad().item() == 0.0);

    Hundred one_infinite(1.0, dtype), one_nan(1.0, dtype);
    one_infinite.set(7, -infinity);
    one_nan.set(7, nan_value);
    CHECK(clip_grad_norm(one_infinite.refs, 1.0) == infinity);
    CHECK(std::isnan(clip_grad_norm(one_nan.refs, 1.0)));
    for (const std::size_t i : {0u, 6u, 8u, 99u}) {
      CHECK(one_infinite.refs[i].grad().item() == 1.0);
      CHECK(one_nan.refs[i].grad().item() == 1.0);
    }
    CHECK(message<ValueError>([&] { clip_grad_norm(one_infinite.refs, 1.0, {.non_finite = NonFinite::raise}); }) ==
          "clip_grad_norm: gradients must be finite; got inf in the gradient of parameter 7, [1]");
    CHECK(one_infinite.refs[0].grad().item() == 1.0);
  }
  Hundred larger(1e300, DType::float64), tiny(1e-200, DType::float64);
  CHECK(clip_grad_norm(larger.refs, 1.0) == Catch::Approx(1e301));
  CHECK(larger.refs[0].grad().item() == Catch::Approx(0.1));
  CHECK(clip_grad_norm(tiny.refs, 1.0) == Catch::Approx(1e-199));
  CHECK(tiny.refs[0].grad().item() == 1e-200);
}

TEST_CASE("OP-12: finite loss, NaN gradient norm", "[case]") {
  for (const bool guarded : {true, false}) {
    Hundred model(0.5);
    optim::AdamW adamw(model.refs, {.lr = 0.1});
    Array weight, moment;
    for (int step = 0; step < 6; ++step) {
      for (std::size_t i = 0; i < 100; ++i) model.set(i, 0.5);
      if (step == 5) {
        model.set(3, nan_value);
        weight = model.refs[0].value();
        moment = adamw.slots()[0].moments[0];
      }
      const double norm = clip_grad_norm(model.refs, 1.0, {.non_finite = guarded ? NonFinite::skip : NonFinite::report});
      CHECK(std::isfinite(norm) == (step < 5));
      adamw.step();
      adamw.zero_grad();
    }
    if (guarded) {
      CHECK(same_bits(model.refs[0].value(), weight));
      CHECK(same_bits(adamw.slots()[0].moments[0], moment));
      CHECK(adamw.slots()[0].steps == 5);
      CHECK(std::isfinite(model.refs[3].value().item()));
    } else {
      CHECK(std::isnan(model.refs[3].value().item()));  // as documented: the norm was the report
    }
  }
}

TEST_CASE("at or under the limit no bit changes; over it the factor is torch's") {
  Parameter p(Array::zeros({3}, DType::float64)), none(Array::zeros({1}));
  const std::vector<ParameterRef> refs{p.ref(), none.ref()};
  const Array g = Array::of({3}, {3.0, 4.0, 12.0}, DType::float64);
  p.ref().grad() = g;
  CHECK(clip_grad_norm(refs, 13.0) == 13.0);
  CHECK(p.grad().is_same(g));
  CHECK(clip_grad_norm(refs, 2.0) == 13.0);
  const double expected[] = {0.46153842603550577, 0.615384568047341, 1.846153704142023};  // torch 2.15, float64
  for (Dim i = 0; i < 3; ++i) CHECK(p.grad().at({i}) == Catch::Approx(expected[i]).epsilon(1e-15));
  CHECK_FALSE(none.grad());
  CHECK(g.at({0}) == 3.0);
  CHECK(clip_grad_norm({}, 1.0) == 0.0);
  CHECK(message<ValueError>([&] { clip_grad_norm(refs, 0.0); }) == "clip_grad_norm: max_norm must be a number above 0; got 0");
  CHECK(message<ValueError>([&] { clip_grad_norm(refs, nan_value); }) == "clip_grad_norm: max_norm must be a number above 0; got nan");
}

TEST_CASE("l2_norm is right at every length and size") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Dim n : {0, 1, 7, 8, 9, 17, 33, 65, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 50'000}) {
      CHECK(l2_norm(Array::full({n}, 2.0, dtype)) == Catch::Approx(2 * std::sqrt(static_cast<double>(n))).epsilon(1e-14));
      if (n == 0) continue;
      Array last = Array::zeros({n}, dtype);
      last.rows(n - 1, n);
      dispatch(dtype, [&]<class T>(T) { last.write<T>([](std::span<T> x) { x.back() = T{-3}; }); });
      CHECK(l2_norm(last) == 3.0);
    }
  CHECK(l2_norm(Array::full({4}, 1e-200, DType::float64)) == Catch::Approx(2e-200));
  CHECK(l2_norm(Array::full({4}, 5e-324, DType::float64)) == Catch::Approx(1e-323));
  CHECK(l2_norm(Array::full({4}, 1e300, DType::float64)) == Catch::Approx(2e300));
  CHECK(std::isnan(l2_norm(Array::of({3}, {infinity, nan_value, 1.0}))));
  CHECK(l2_norm(Array::of({3}, {1.0, -infinity, 1.0})) == infinity);
}
