// Multi-head attention by itself: its shapes, what a valid length hides, and what the factor 1/√d_k is for.
#include <fmt/format.h>

#include <algorithm>

#include "attention_demo/attention_demo.hpp"
#include "common/command_line.hpp"
#include "common/utf8_text.hpp"

using namespace tapeform;
using namespace examples;

namespace {

int body(int argc, const char* const* argv) {
  CommandLine options("attention_demo", "Runs multi-head attention on padded keys, and shows what scaling the scores is for.");
  std::int64_t queries = 20'000;
  options.add("--queries", queries, "random queries for the table of scales", 1, 10'000'000);
  std::string page;
  options.add("--page", page, "where a page that shows every step of the first sample goes");
  options.parse(argc, argv);
  if (!page.empty()) check_writable(page);

  Rng rng(options.seed);
  const nn::MultiHeadAttention attention = attention_demo::make_attention(rng);
  const attention_demo::Inputs inputs = attention_demo::draw_inputs(rng);
  const attention_demo::Attended attended = attention_demo::attend(attention, inputs);
  const Shape& shape = attended.output.shape();
  fmt::print("Output shape: ({}, {}, {})\n{}\n", shape[0], shape[1], shape[2],
             to_string(attended.output, {.precision = 4, .threshold = 100}));

  double hidden = 0, from_one = 0;
  const Array& weights = attended.weights;
  for (Dim b = 0; b < weights.dim(0); ++b)
    for (Dim h = 0; h < weights.dim(1); ++h)
      for (Dim i = 0; i < weights.dim(2); ++i) {
        double sum = 0;
        for (Dim j = 0; j < weights.dim(3); ++j) {
          const double weight = weights.at({b, h, i, j});
          sum += weight;
          if (j >= inputs.lens[b]) hidden = std::max(hidden, weight);
        }
        from_one = std::max(from_one, std::abs(sum - 1));
      }
  fmt::print("\nWeights, a line for every query; {} keys of sample 0 are valid and {} of sample 1\n{}", inputs.lens[0], inputs.lens[1],
             attention_demo::weights_text(weights));
  fmt::print("largest weight of a hidden key: {}; rows sum to 1 within {:.0e}\n", hidden, from_one);

  if (!page.empty()) {
    write_file(page, attention_demo::steps_page(attention, inputs));
    fmt::print("every step: {}\n", page);
  }

  fmt::print("\nWhat 1/√d_k is for: {} random queries, 16 random keys\n", queries);
  fmt::print("        deviation of scores    softmax Jacobian, mean norm\n   d_k      raw      scaled          raw      scaled\n");
  for (const Dim key_width : {16, 64, 256}) {
    const attention_demo::ScaleRow row = attention_demo::measure_scale(key_width, 16, queries, rng);
    fmt::print("{:6}{:9.2f}{:12.2f}{:13.3f}{:12.3f}\n", row.key_width, row.raw_deviation, row.scaled_deviation, row.raw_jacobian,
               row.scaled_jacobian);
  }
  fmt::print("Unscaled scores grow with √d_k, so the softmax saturates and passes less and less of a gradient; scaled ones do not.\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("attention_demo", body, argc, argv); }
