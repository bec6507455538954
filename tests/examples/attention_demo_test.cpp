#include <cmath>

#include "attention_demo/attention_demo.hpp"
#include "catch.hpp"
#include "examples/programs.hpp"

using namespace tapeform;
using namespace examples;

namespace {

double worst(const Array& a, const Array& b) {
  REQUIRE(a.shape() == b.shape());
  const auto x = a.to_vector(), y = b.to_vector();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

}  // namespace

TEST_CASE("attention_demo: output and weights are numpy's") {
  const auto file = io::read_npz(TAPEFORM_TESTS_DIR "/golden/numpy/attention_demo.npz");
  Rng rng(1);
  nn::MultiHeadAttention attention = attention_demo::make_attention(rng);
  attention.in_proj_weight.assign(file.array("in_proj_weight"));
  attention.out_proj.weight.assign(file.array("out_proj.weight"));
  nn::cast(attention, DType::float64);
  const attention_demo::Inputs inputs{file.array("queries").cast(DType::float64), file.array("keys").cast(DType::float64),
                                      file.ids("lens")};
  const attention_demo::Attended attended = attention_demo::attend(attention, inputs);
  CHECK(attended.output.shape() == Shape{2, 4, 100});
  CHECK(worst(attended.output, file.array("output")) <= 1e-10);
  CHECK(worst(attended.weights, file.array("weights")) <= 1e-10);
  CHECK(worst(attended.output, Array::zeros({2, 4, 100}, DType::float64)) > 1);
}

TEST_CASE("attention_demo: hidden keys have a weight of exactly 0 in every head, and rows sum to 1") {
  Rng rng(2);
  const nn::MultiHeadAttention attention = attention_demo::make_attention(rng);
  CHECK(nn::count_parameters(attention) == 4 * 100 * 100);
  const attention_demo::Inputs inputs = attention_demo::draw_inputs(rng);
  const Array weights = attention_demo::attend(attention, inputs).weights;
  CHECK(weights.shape() == Shape{2, 5, 4, 6});
  for (const Dim b : {0, 1})
    for (Dim h = 0; h < 5; ++h)
      for (Dim i = 0; i < 4; ++i) {
        double sum = 0;
        for (Dim j = 0; j < 6; ++j) {
          const double weight = weights.at({b, h, i, j});
          sum += weight;
          CHECK((j < (b == 0 ? 3 : 2) ? weight > 0 : weight == 0));
        }
        CHECK(sum == Catch::Approx(1).epsilon(1e-6));
      }
}

TEST_CASE("attention_demo: scaled scores keep deviation 1 and a softmax that answers, raw ones do not") {
  Rng rng(3);
  struct Expected {
    Dim key_width;
    double deviation, jacobian;
  };
  for (const auto& [key_width, deviation, jacobian] : {Expected{16, 4, 0.277}, Expected{64, 8, 0.176}, Expected{256, 16, 0.100}}) {
    const attention_demo::ScaleRow row = attention_demo::measure_scale(key_width, 16, 20'000, rng);
    CHECK(row.raw_deviation == Catch::Approx(deviation).epsilon(0.03));
    CHECK(row.scaled_deviation == Catch::Approx(1).epsilon(0.03));
    CHECK(row.raw_jacobian == Catch::Approx(jacobian).epsilon(0.03));
    CHECK(row.scaled_jacobian == Catch::Approx(0.305).epsilon(0.03));
  }
}

TEST_CASE("programs: attention_demo prints shape, weights and the table of scales") {
  const Outcome outcome = run("$BIN/attention_demo --queries 1000");
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.text, Catch::Matchers::StartsWith("Output shape: (2, 4, 100)\n[[["));
  CHECK_THAT(outcome.text, Contains("sample 1, head 4\n") && Contains("  0.0000  0.0000  0.0000\n") &&
                               Contains("largest weight of a hidden key: 0; rows sum to 1 within") && Contains("\n   256"));
  CHECK(run("$BIN/attention_demo").text == run("$BIN/attention_demo --threads 1").text);
  const Outcome page = run("page=$(mktemp) && $BIN/attention_demo --queries 1 --page $page && cat $page; rm -f $page");
  CHECK(page.status == 0);
  CHECK_THAT(page.text, Contains("every step: ") && Contains("\"title\":\"scaled scores, head 4\"") && Contains("[H, Tq, Tk] = [5, 4, 6]"));
}
