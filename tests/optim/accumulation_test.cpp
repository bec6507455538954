#include <cmath>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "catch.hpp"

using namespace tapeform;

namespace {

Ids random_ids(const Shape& shape, Rng& rng) {
  Ids ids = Ids::full(shape, 0);
  ids.write([&rng](std::span<std::int64_t> each) {
    for (std::int64_t& id : each) id = rng.below(20);
  });
  return ids;
}

Ids rows_of(const Ids& ids, Dim begin, Dim end) {
  const Dim length = ids.shape()[1];
  Ids rows = Ids::full({end - begin, length}, 0);
  rows.write([&](std::span<std::int64_t> each) {
    for (Dim i = 0; i < (end - begin) * length; ++i) each[static_cast<std::size_t>(i)] = ids[begin * length + i];
  });
  return rows;
}

/// Updates, each of a batch of 12 in `parts` micro-batches; all weights after them.
std::vector<double> train(int updates, Dim parts, DType dtype) {
  Rng rng(1), data(2);
  nn::CausalLM model(20, rng, {.num_hiddens = 32, .num_heads = 2, .num_layers = 1, .max_len = 8, .dropout = 0});
  nn::cast(model, dtype);
  const auto parameters = nn::parameters(model);
  optim::SGD sgd(parameters, {.lr = 0.1, .momentum = 0.9});
  for (int update = 0; update < updates; ++update) {
    const Ids ids = random_ids({12, 8}, data), targets = random_ids({12, 8}, data);
    for (Dim part = 0; part < parts; ++part) {
      const Dim begin = 12 * part / parts, end = 12 * (part + 1) / parts;
      Tape tape(Tape::no_dropout);
      const Tensor loss = model.loss(rows_of(ids, begin, end), rows_of(targets, begin, end));
      tape.backward(loss * (static_cast<double>(end - begin) / 12));  // each mean by its share of the batch
    }
    optim::clip_grad_norm(parameters, 1.0);
    sgd.step();
    sgd.zero_grad();
  }
  std::vector<double> weights;
  for (const ParameterRef& parameter : parameters)
    for (const double weight : parameter.value().to_vector()) weights.push_back(weight);
  return weights;
}

}  // namespace

TEST_CASE("accumulation: gradients of micro-batches, each by its share, add up to those of one batch") {
  const auto distance = [](const std::vector<double>& a, const std::vector<double>& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
  };
  for (const DType dtype : {DType::float32, DType::float64}) {
    const std::vector<double> whole = train(3, 1, dtype);
    CHECK(distance(whole, train(0, 1, dtype)) > 1e-2);
    for (const Dim parts : {2, 5, 12}) {  // 5: of 2 and 3 rows
      INFO(name(dtype) << ", " << parts << " micro-batches");
      const std::vector<double> accumulated = train(3, parts, dtype);
      CHECK(distance(accumulated, whole) <= (dtype == DType::float32 ? 1e-6 : 1e-14));
      CHECK(train(3, parts, dtype) == accumulated);
    }
  }
}
