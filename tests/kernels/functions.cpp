#include "kernels/elementwise_loops.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "kernels/attention_rows.hpp"
#include "kernels/isa.hpp"

// The vector functions against long double libm, at every vector level that this processor has.

using namespace tapeform;
using namespace tapeform::kernels;

namespace {

const float inf = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();
const float denormal = std::numeric_limits<float>::denorm_min();
const float smallest = std::numeric_limits<float>::min();
const float largest = std::numeric_limits<float>::max();

constexpr long double pi = 3.14159265358979323846264338327950288L;

long double gelu_exponent(long double x) { return 2 * std::sqrt(2 / pi) * (x + 0.044715L * x * x * x); }

long double exact(Unary op, long double x) {
  switch (op) {
    case Unary::neg:
      return -x;
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return std::log(x);
    case Unary::sqrt:
      return std::sqrt(x);
    case Unary::tanh:
      return std::tanh(x);
    case Unary::erf:
      return std::erf(x);
    case Unary::erfc:
      return std::erfc(x);
    case Unary::relu:
      return std::isnan(x) || x > 0 ? x : 0;
    case Unary::gelu_erf:
      return x < -100 ? 0 : x * 0.5L * std::erfc(-x * std::sqrt(0.5L));
    case Unary::gelu_tanh:
      return x < -100 ? 0 : x / (1 + std::exp(-gelu_exponent(x)));
    case Unary::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Unary::silu:
      return x < -1000 ? 0 : x / (1 + std::exp(-x));
  }
  return not_a_number;
}

// Distance in units of the last place of a float of the exact value's size; those of denormal numbers are all one size.
double ulps(float y, long double right) {
  const float rounded = static_cast<float>(right);
  if (std::isnan(right) || std::isnan(y)) return std::isnan(right) == std::isnan(y) ? 0 : inf;
  if (std::isinf(rounded) || std::isinf(y)) return rounded == y ? 0 : inf;
  int exponent = 0;
  std::frexp(right, &exponent);
  return static_cast<double>(std::abs(y - right) / std::ldexp(1.0L, std::max(exponent - 24, -149)));
}

std::vector<float> samples() {
  std::vector<float> x = {0.0f,     -0.0f,     1.0f,       -1.0f,       inf,        -inf,      not_a_number, denormal,  -denormal,
                          smallest, -smallest, largest,    -largest,    88.72283f,  88.72284f, -87.337f,     -103.972f, -103.973f,
                          -103.98f, -104.0f,   0.55f,      0.9f,        0.8f,       10.0542f,  -14.6f,       -14.2f,    -11.2f,
                          -10.0f,   9.02f,     3.9192059f, 0.70710677f, 1.4142135f, 2.5f,      -2.5f};
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 40009) {
    const std::uint32_t word = static_cast<std::uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, sizeof value);
    x.push_back(value);
  }
  for (int i = -20000; i < 20000; ++i) x.push_back(static_cast<float>(i) * 7.5e-4f + 1e-5f);  // [-15, 15], where the curves are
  return x;
}

// Puts back the level that the environment chose.
struct EveryLevel {
  std::string before = isa_name();
  ~EveryLevel() { set_isa(before); }
  template <class F>
  void run(F f) const {
    for (const std::string& level : isa_names()) {
      set_isa(level);
      INFO("level " << level);
      f();
    }
  }
};

void check_accuracy(Unary op, double most_ulps) {
  const std::vector<float> x = samples();
  std::vector<long double> right;
  for (const float value : x) right.push_back(exact(op, value));
  EveryLevel().run([&] {
    std::vector<float> y(x.size());
    run_unary(op, x.data(), y.data(), static_cast<Dim>(x.size()));
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const double error = ulps(y[i], right[i]); error > worst) worst = error, at = i;
    INFO("at x = " << x[at] << ": " << y[at] << " for " << static_cast<double>(right[at]));
    CHECK(worst <= most_ulps);
  });
}

float one(Unary op, float x) {
  float y;
  run_unary(op, &x, &y, 1);
  return y;
}

constexpr Unary every_unary[] = {Unary::neg,  Unary::exp,  Unary::log,      Unary::sqrt,      Unary::tanh,    Unary::erf,
                                 Unary::erfc, Unary::relu, Unary::gelu_erf, Unary::gelu_tanh, Unary::sigmoid, Unary::silu};

}  // namespace

TEST_CASE("exp is within one unit of the last place on all floats") { check_accuracy(Unary::exp, 1.0); }
TEST_CASE("exp of a softmax is within one unit of the last place, and 0 under the smallest normal float") {
  std::vector<float> x;
  for (const float value : samples())
    if (!(value > 88)) x.push_back(value);
  for (int i = 0; i < 4000; ++i) x.push_back(-87.35f + static_cast<float>(i) * 7.63e-6f);  // around where it ends
  EveryLevel().run([&] {
    std::vector<float> y = x;
    attention_rows<float>().weights(y.data(), static_cast<Dim>(y.size()), 0.0f, 1.0f);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double right = exact(Unary::exp, x[i]);
      const double error = y[i] == 0 ? (right < 1.0001L * smallest ? 0 : inf) : y[i] < smallest / 1.0001f ? inf : ulps(y[i], right);
      if (error > worst) worst = error, at = i;
    }
    INFO("at x = " << x[at] << ": " << y[at]);
    CHECK(worst <= 1.0);
  });
}
TEST_CASE("log is within one unit of the last place on all floats") { check_accuracy(Unary::log, 1.0); }
TEST_CASE("sqrt is rounded exactly") { check_accuracy(Unary::sqrt, 0.5); }
TEST_CASE("tanh is within 1.5 units of the last place on all floats") { check_accuracy(Unary::tanh, 1.5); }
TEST_CASE("erf is within 1.5 units of the last place on all floats") { check_accuracy(Unary::erf, 1.5); }
TEST_CASE("erfc is within 3.5 units of the last place on all floats") { check_accuracy(Unary::erfc, 3.5); }
TEST_CASE("gelu keeps its last bits in the tail: erf form") { check_accuracy(Unary::gelu_erf, 4.5); }
TEST_CASE("gelu keeps its last bits in the tail: tanh form") { check_accuracy(Unary::gelu_tanh, 2.5); }
TEST_CASE("sigmoid is within 2 units of the last place on all floats") { check_accuracy(Unary::sigmoid, 2.0); }
TEST_CASE("silu is within 2.5 units of the last place on all floats") { check_accuracy(Unary::silu, 2.5); }

TEST_CASE("vector functions: limits, signed zeros, NaN") {
  EveryLevel().run([] {
    CHECK(one(Unary::exp, inf) == inf);
    CHECK(one(Unary::exp, -inf) == 0.0f);
    CHECK(one(Unary::exp, 0.0f) == 1.0f);
    CHECK(one(Unary::exp, 88.72283f) < inf);
    CHECK(one(Unary::exp, 88.72284f) == inf);
    CHECK(one(Unary::exp, -103.972f) == denormal);
    CHECK(one(Unary::exp, -103.98f) == 0.0f);
    CHECK(one(Unary::log, 0.0f) == -inf);
    CHECK(one(Unary::log, -0.0f) == -inf);
    CHECK(one(Unary::log, inf) == inf);
    CHECK(std::isnan(one(Unary::log, -denormal)));
    CHECK(std::isnan(one(Unary::log, -inf)));
    CHECK(one(Unary::log, 1.0f) == 0.0f);
    CHECK(one(Unary::tanh, inf) == 1.0f);
    CHECK(one(Unary::tanh, -inf) == -1.0f);
    CHECK(one(Unary::erf, inf) == 1.0f);
    CHECK(one(Unary::erfc, inf) == 0.0f);
    CHECK(one(Unary::erfc, -inf) == 2.0f);
    for (const Unary op : {Unary::tanh, Unary::erf, Unary::gelu_erf, Unary::gelu_tanh, Unary::silu}) CHECK(std::signbit(one(op, -0.0f)));
    CHECK(one(Unary::sigmoid, inf) == 1.0f);
    CHECK(one(Unary::sigmoid, -inf) == 0.0f);
    CHECK(one(Unary::sigmoid, -0.0f) == 0.5f);
    for (const Unary op : {Unary::gelu_erf, Unary::gelu_tanh, Unary::silu}) {
      CHECK(one(op, inf) == inf);
      CHECK(one(op, -inf) == 0.0f);
      CHECK(one(op, largest) == largest);
      CHECK(one(op, -largest) == 0.0f);
    }
    for (const Unary op : every_unary) CHECK(std::isnan(one(op, not_a_number)));
  });
}

TEST_CASE("vector loops: every length gives the bits of a long one, and writes nothing beyond its end") {
  std::vector<float> x(80);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.37f * static_cast<float>(i) - 9.0f;
  EveryLevel().run([&] {
    for (const Unary op : every_unary) {
      std::vector<float> whole(x.size());
      run_unary(op, x.data(), whole.data(), 80);
      for (Dim n = 0; n <= 66; ++n) {
        std::vector<float> y(80, 77.0f);
        run_unary(op, x.data() + 3, y.data(), n);
        const std::size_t count = static_cast<std::size_t>(n);
        INFO("op " << static_cast<int>(op) << ", length " << n);
        REQUIRE((n == 0 || std::memcmp(y.data(), whole.data() + 3, count * sizeof(float)) == 0));
        REQUIRE(std::vector<float>(y.begin() + n, y.end()) == std::vector<float>(80 - count, 77.0f));
      }
    }
  });
}

TEST_CASE("gelu's derivatives against their formulas, tails included") {
  std::vector<float> x, dy;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 3.3e-3f);  // [-13.2, 13.2]
  dy.assign(x.size(), 1.0f);
  EveryLevel().run([&] {
    for (const Binary op : {Binary::gelu_erf_gradient, Binary::gelu_tanh_gradient}) {
      std::vector<float> dx(x.size());
      const Dim n = static_cast<Dim>(x.size());
      run_binary(op, BinaryRows<float>{dy.data(), x.data(), dx.data(), 1, n, 0, 0, false, false});
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double v = x[i];
        long double right;
        if (op == Binary::gelu_erf_gradient) {
          right = 0.5L * std::erfc(-v * std::sqrt(0.5L)) + v * std::exp(-v * v / 2) / std::sqrt(2 * pi);
        } else {
          const long double e = std::exp(-gelu_exponent(v)), slope = 2 * std::sqrt(2 / pi) * (1 + 3 * 0.044715L * v * v);
          right = 1 / (1 + e) + v * slope * e / ((1 + e) * (1 + e));
        }
        // Near the zero of the derivative, about x = -0.75, what counts is the size of the terms that cancel there.
        const long double size = v > -1.3L && v < -0.3L ? 0.25L : std::abs(right);
        worst = std::max(worst, static_cast<double>(std::abs(dx[i] - right) / (size + 1e-38L)));
      }
      CHECK(worst < 5e-7);
    }
  });
}

TEST_CASE("gelu's derivatives: 0 at -inf, 1 at inf, NaN at NaN, in both dtypes") {
  const std::vector<double> at = {-inf, inf, not_a_number, -largest, largest};
  const std::vector<float> x(at.begin(), at.end()), dy(5, 1.0f);
  const std::vector<double> ones(5, 1.0);
  EveryLevel().run([&] {
    for (const Binary op : {Binary::gelu_erf_gradient, Binary::gelu_tanh_gradient}) {
      std::vector<float> f(5);
      std::vector<double> d(5);
      run_binary(op, BinaryRows<float>{dy.data(), x.data(), f.data(), 1, 5, 0, 0, false, false});
      run_binary(op, BinaryRows<double>{ones.data(), at.data(), d.data(), 1, 5, 0, 0, false, false});
      CHECK((f[0] == 0.0f && f[1] == 1.0f && std::isnan(f[2]) && f[3] == 0.0f && f[4] == 1.0f));
      CHECK((d[0] == 0.0 && d[1] == 1.0 && std::isnan(d[2]) && d[3] == 0.0 && d[4] == 1.0));
    }
  });
}

TEST_CASE("the derivatives of sigmoid and silu against their formulas, tails included") {
  std::vector<float> x, dy;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 2.5e-2f);  // [-100, 100]
  dy.assign(x.size(), 1.0f);
  EveryLevel().run([&] {
    for (const Binary op : {Binary::sigmoid_gradient, Binary::silu_gradient}) {
      std::vector<float> dx(x.size());
      run_binary(op, BinaryRows<float>{dy.data(), x.data(), dx.data(), 1, static_cast<Dim>(x.size()), 0, 0, false, false});
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const long double v = x[i], e = std::exp(-std::abs(v)), slope = e / ((1 + e) * (1 + e));
        const long double right = op == Binary::sigmoid_gradient ? slope : (v < 0 ? e : 1.0L) / (1 + e) + v * slope;
        // Near the zero of silu's derivative, about x = -1.28, what counts is the size of the terms that cancel there.
        const long double size = op == Binary::silu_gradient && v > -2 && v < -0.8L ? 0.25L : std::abs(right);
        worst = std::max(worst, static_cast<double>((std::abs(dx[i] - right) - 0x1p-149L) / (size + 1e-45L)));
      }
      CHECK(worst < 5e-7);
    }
  });
}

TEST_CASE("the derivatives of sigmoid and silu: limits at ±inf, NaN at NaN, in both dtypes") {
  const std::vector<double> at = {-inf, inf, not_a_number, -largest, largest};
  const std::vector<float> x(at.begin(), at.end()), dy(5, 1.0f);
  const std::vector<double> ones(5, 1.0);
  EveryLevel().run([&] {
    for (const Binary op : {Binary::sigmoid_gradient, Binary::silu_gradient}) {
      std::vector<float> f(5);
      std::vector<double> d(5);
      run_binary(op, BinaryRows<float>{dy.data(), x.data(), f.data(), 1, 5, 0, 0, false, false});
      run_binary(op, BinaryRows<double>{ones.data(), at.data(), d.data(), 1, 5, 0, 0, false, false});
      const float right = op == Binary::sigmoid_gradient ? 0.0f : 1.0f;
      CHECK((f[0] == 0.0f && f[1] == right && std::isnan(f[2]) && f[3] == 0.0f && f[4] == right));
      CHECK((d[0] == 0.0 && d[1] == right && std::isnan(d[2]) && d[3] == 0.0 && d[4] == right));
    }
  });
}

TEST_CASE("the derivatives of log and sqrt leave a gradient of 0 at 0, where their slope is inf") {
  EveryLevel().run([] {
    for (const Binary op : {Binary::log_gradient, Binary::sqrt_gradient}) {
      const float dy[] = {0.0f, -0.0f, 1.0f}, zeros[] = {0.0f, 0.0f, 0.0f};
      float dx[3];
      run_binary(op, BinaryRows<float>{dy, zeros, dx, 1, 3, 0, 0, false, false});
      CHECK((dx[0] == 0.0f && dx[1] == 0.0f && dx[2] == inf));
      const double dy64[] = {0.0, -0.0, 1.0}, zeros64[] = {0.0, 0.0, 0.0};
      double dx64[3];
      run_binary(op, BinaryRows<double>{dy64, zeros64, dx64, 1, 3, 0, 0, false, false});
      CHECK((dx64[0] == 0.0 && dx64[1] == 0.0 && dx64[2] == inf));
    }
  });
}

TEST_CASE("float64 functions are libm's", "[x87]") {
  for (const Unary op : every_unary)
    for (int i = -400; i < 400; ++i) {
      const double x = 0.047 * i + 0.001;
      double y = 0;
      run_unary(op, &x, &y, 1);
      const long double right = exact(op, x);
      INFO("op " << static_cast<int>(op) << " at " << x);
      if (std::isnan(right))
        REQUIRE(std::isnan(y));
      else
        // gelu's arguments are rounded before exp and erfc see them: relative error grows with their size
        REQUIRE(std::abs(static_cast<double>(y - right)) <= (op >= Unary::gelu_erf ? 1e-13 : 4e-16) * std::abs(static_cast<double>(right)));
    }
}
