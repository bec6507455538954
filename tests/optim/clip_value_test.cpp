#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/update.hpp>
#include <tapeform/optim/adamw.hpp>
#include <tapeform/optim/clip.hpp>
#include <vector>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;
using optim::clip_grad_norm;
using optim::clip_grad_value;
using optim::NonFinite;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

/// Two parameters with gradients, one of them given twice, and one without.
struct Three {
  Parameter a, b, none;
  std::vector<ParameterRef> refs;
  explicit Three(DType dtype, std::initializer_list<double> da = {3.0, -4.0, 0.5})
      : a(Array::ones({3}, dtype)), b(Array::ones({2}, dtype)), none(Array::ones({1}, dtype)) {
    refs = {a.ref(), b.ref(), none.ref(), a.ref()};
    a.ref().grad() = Array::of({3}, da, dtype);
    b.ref().grad() = Array::of({2}, {8.0, -0.25}, dtype);
  }
};

}  // namespace

TEST_CASE("clip by the largest size scales all gradients together") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Three model(dtype);
    const Array before = model.a.grad();
    CHECK(clip_grad_norm(model.refs, 8.0, {.p = infinity}) == 8.0);
    CHECK(model.a.grad().is_same(before));
    CHECK(clip_grad_norm(model.refs, 2.0, {.p = infinity}) == 8.0);
    const double factor = 2.0 / (8.0 + 1e-6), epsilon = dtype == DType::float32 ? 1e-6 : 1e-15;
    CHECK(model.a.grad().at({1}) == Catch::Approx(-4.0 * factor).epsilon(epsilon));
    CHECK(model.b.grad().at({0}) == Catch::Approx(8.0 * factor).epsilon(epsilon));
    CHECK_FALSE(model.none.grad());
    // Sizes whose squares overflow or vanish.
    Three huge(dtype, {1e30, -3e30, 0.0}), tiny(dtype, {1e-30, 0.0, 0.0});
    CHECK(clip_grad_norm(huge.refs, 1.0, {.p = infinity}) == Catch::Approx(3e30));
    CHECK(huge.a.grad().at({1}) == Catch::Approx(-1.0));
    tiny.b.ref().grad() = Array();
    CHECK(clip_grad_norm(tiny.refs, 1.0, {.p = infinity}) == Catch::Approx(1e-30));
  }
  CHECK(clip_grad_norm({}, 1.0, {.p = infinity}) == 0.0);
}

TEST_CASE("clip by value changes only what is over the limit") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Three model(dtype);
    const Array before = model.a.grad();
    CHECK(clip_grad_value(model.refs, 8.0) == 8.0);
    CHECK(model.a.grad().is_same(before));
    CHECK(clip_grad_value(model.refs, 2.0) == 8.0);
    CHECK(model.a.grad().to_vector() == std::vector<double>{2.0, -2.0, 0.5});
    CHECK(model.b.grad().to_vector() == std::vector<double>{2.0, -0.25});
    CHECK(before.at({0}) == 3.0);  // a copy that somebody kept
  }
  for (const Dim n : {0, 1, 7, 8, 9, 17, 33, 65, (1 << 14) + 1}) {
    Rng rng(3);
    const Parameter p(Array::zeros({n}));
    p.ref().grad() = normal({n}, 0, 1, rng);
    std::vector<double> expected = p.grad().to_vector();
    double largest = 0;
    for (double& g : expected) {
      largest = std::max(largest, std::abs(g));
      g = std::clamp(g, -0.5, 0.5);
    }
    CHECK(clip_grad_value({p.ref()}, 0.5) == largest);
    CHECK(p.grad().to_vector() == expected);
  }
}

TEST_CASE("OP-10: clipping overflow and non-finite; by the largest size and by value", "[case]") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const double bad : {infinity, -infinity, nan_value})
      for (const bool by_value : {false, true}) {
        const auto clip = [by_value](const Three& model, NonFinite asked) {
          return by_value ? clip_grad_value(model.refs, 1.0, asked) : clip_grad_norm(model.refs, 1.0, {.p = infinity, .non_finite = asked});
        };
        Three model(dtype, {3.0, bad, 0.5});
        const double size = clip(model, NonFinite::report);
        CHECK((std::isnan(bad) ? std::isnan(size) : size == infinity));
        CHECK(model.a.grad().at({0}) == 3.0);
        CHECK(model.b.grad().at({0}) == 8.0);
        CHECK(message<ValueError>([&] { clip(model, NonFinite::raise); }) ==
              std::string(by_value ? "clip_grad_value" : "clip_grad_norm") + ": gradients must be finite; got " +
                  (std::isnan(bad) ? "nan" : "inf") + " in the gradient of parameter 0, [3]");
        CHECK(model.b.grad().at({0}) == 8.0);
        clip(model, NonFinite::skip);
        CHECK_FALSE(model.a.grad());
        CHECK_FALSE(model.b.grad());
      }
}

TEST_CASE("OP-12: finite loss, NaN gradient norm; clipping by value guards a run too", "[case]") {
  const Parameter p(Array::ones({2}));
  optim::AdamW adamw({p.ref()}, {.lr = 0.1});
  Array weight, moment;
  for (int step = 0; step < 7; ++step) {
    p.ref().grad() = Array::of({2}, {0.5, step == 5 ? nan_value : 2.0});
    CHECK(std::isfinite(clip_grad_value({p.ref()}, 1.0, NonFinite::skip)) == (step != 5));
    adamw.step();
    adamw.zero_grad();
    if (step == 4) weight = p.value(), moment = adamw.slots()[0].moments[0];
    if (step == 5) {
      CHECK(same_bits(p.value(), weight));
      CHECK(same_bits(adamw.slots()[0].moments[0], moment));
      CHECK(adamw.slots()[0].steps == 5);
    }
  }
  CHECK(adamw.slots()[0].steps == 6);
  CHECK(std::isfinite(p.value().at({1})));
}

TEST_CASE("clipping names the limit or norm that does not fit") {
  const Three model(DType::float32);
  CHECK(message<ValueError>([&] { clip_grad_norm(model.refs, 1.0, {.p = 3}); }) == "clip_grad_norm: p must be 2 or infinity; got 3");
  CHECK(message<ValueError>([&] { clip_grad_value(model.refs, 0.0); }) == "clip_grad_value: max_value must be a number above 0; got 0");
  CHECK(message<ValueError>([&] { clip_grad_value(model.refs, nan_value); }) ==
        "clip_grad_value: max_value must be a number above 0; got nan");
  CHECK(largest_size(Array::of({3}, {1.0, nan_value, 5.0})) != 5.0);
  CHECK(largest_size(Array::zeros({0})) == 0.0);
  Array x = Array::of({1}, {1.0}), two = Array::zeros({2});
  CHECK(message<ShapeError>([&] { blend_in_place(x, two, 0.5); }) == "blend_in_place: y must have x's shape; got x [1], y [2]");
}
