#include <tapeform/nn/generate.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/tape.hpp>
#include <utility>
#include <vector>

namespace tapeform::nn {

namespace {

using Rows = std::vector<std::vector<std::int64_t>>;

void check_count(Dim max_new_ids) {
  if (max_new_ids < 0) throw ValueError(fmt::format("generate: max_new_ids must be at least 0; got {}", max_new_ids));
}

void check_number(double logit, Dim id) {
  if (std::isnan(logit) || logit == INFINITY)
    throw ValueError(fmt::format("generate: the logit of id {} is {}. Training has diverged, or a weight is not finite", id, logit));
}

/// The logits [B, V] at the last position of hiddens [B, T, D].
template <class Model>
Array last_logits(const Model& model, const Tensor& hiddens) {
  const Dim time = hiddens.dim(1);
  const Tensor last = reshape(slice(hiddens, 1, time - 1, time), {hiddens.dim(0), hiddens.dim(2)});
  return model.logits(last).value();
}

std::int64_t most_likely(const Array& logits) {
  const std::vector<double> values = logits.to_vector();
  for (std::size_t id = 0; id < values.size(); ++id) check_number(values[id], static_cast<Dim>(id));
  return std::ranges::max_element(values) - values.begin();
}

Array row(const Array& logits, Dim b) { return logits.rows(b, b + 1).reshape({logits.dim(1)}); }

/// Calls `next(b, logits [V])` for every sequence that has not ended, one position after the other.
/// `logits_of(rows so far)` gives [B, V].
template <class LogitsOf, class Next>
Ids extend(Dim batch, Dim max_new_ids, std::int64_t end_id, const LogitsOf& logits_of, const Next& next) {
  Rows made(static_cast<std::size_t>(batch));
  std::vector<bool> ended(made.size(), false);
  for (Dim step = 0; step < max_new_ids && std::ranges::find(ended, false) != ended.end(); ++step) {
    const Array logits = logits_of(made);  // [B, V]
    for (std::size_t b = 0; b < made.size(); ++b) {
      const std::int64_t id = ended[b] ? end_id : next(row(logits, static_cast<Dim>(b)));
      made[b].push_back(id);
      ended[b] = id == end_id && end_id >= 0;
    }
  }
  const Dim length = made.empty() ? 0 : static_cast<Dim>(made.front().size());
  std::vector<std::int64_t> flat;
  for (const auto& sequence : made) flat.insert(flat.end(), sequence.begin(), sequence.end());
  return Ids({batch, length}, flat);
}

/// Row b of `first` followed by what was made for it, cut to the last `room` ids: [B, T].
Ids joined(const Ids& first, const Rows& made, Dim room) {
  const Dim begin = first.dim(1), length = begin + static_cast<Dim>(made.front().size()), skip = std::max<Dim>(0, length - room);
  std::vector<std::int64_t> flat;
  for (std::size_t b = 0; b < made.size(); ++b)
    for (Dim t = skip; t < length; ++t)
      flat.push_back(t < begin ? first[static_cast<Dim>(b) * begin + t] : made[b][static_cast<std::size_t>(t - begin)]);
  return Ids({first.dim(0), length - skip}, flat);
}

template <class Next>
Ids continue_prompt(const CausalLM& model, const Ids& prompt, Dim max_new_ids, std::int64_t end_id, const Next& next) {
  check_count(max_new_ids);
  if (prompt.rank() != 2 || prompt.dim(1) < 1)
    throw ShapeError(fmt::format("generate: the prompt must be ids [B, T] with at least one in every row; got {}", prompt.shape().str()));
  const NoTape no_tape;
  const auto logits_of = [&model, &prompt](const Rows& made) {
    return last_logits(model, model.hiddens(joined(prompt, made, model.max_len())));
  };
  return extend(prompt.dim(0), max_new_ids, end_id, logits_of, next);
}

void check_sampling(const SamplingOptions& options) {
  if (!std::isfinite(options.temperature) || options.temperature < 0)
    throw ValueError(fmt::format("generate: temperature must be finite and at least 0; got {}", options.temperature));
  if (options.top_k < 0) throw ValueError(fmt::format("generate: top_k must be at least 0 (0: all); got {}", options.top_k));
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw ValueError(fmt::format("generate: top_p must be over 0 and at most 1; got {}", options.top_p));
}

}  // namespace

Ids generate(const Seq2Seq& model, const Ids& src, const Ids& src_lens, const GreedyOptions& options) {
  check_count(options.max_new_ids);
  if (options.max_new_ids > model.max_len())
    throw ValueError(fmt::format("generate: max_new_ids must not be over the model's max_len; got max_new_ids {}, max_len {}",
                                 options.max_new_ids, model.max_len()));
  const NoTape no_tape;
  const Tensor memory = model.encode(src, src_lens);
  const Ids start = Ids::full({src.dim(0), 1}, options.start_id);
  const auto logits_of = [&model, &memory, &src_lens, &start](const Rows& made) {
    return last_logits(model, model.decode(joined(start, made, model.max_len()), memory, src_lens));
  };
  return extend(src.dim(0), options.max_new_ids, options.end_id, logits_of, most_likely);
}

Ids generate(const CausalLM& model, const Ids& prompt, const GreedyOptions& options) {
  return continue_prompt(model, prompt, options.max_new_ids, options.end_id, most_likely);
}

Ids generate(const CausalLM& model, const Ids& prompt, Rng& rng, const SamplingOptions& options) {
  check_sampling(options);
  return continue_prompt(model, prompt, options.max_new_ids, options.end_id,
                         [&rng, &options](const Array& logits) { return sample_id(logits, rng, options); });
}

std::int64_t sample_id(const Array& logits, Rng& rng, const SamplingOptions& options) {
  check_sampling(options);
  if (logits.rank() != 1 || logits.numel() == 0)
    throw ShapeError(fmt::format("sample_id: logits must be [V] with at least one; got {}", logits.shape().str()));
  if (options.temperature == 0) return most_likely(logits);
  const std::vector<double> values = logits.to_vector();
  for (std::size_t id = 0; id < values.size(); ++id) check_number(values[id], static_cast<Dim>(id));

  std::vector<std::size_t> order(values.size());  // most likely first, the lower id first among equals
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&values](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  if (options.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(options.top_k)));

  if (values[order[0]] == -INFINITY) throw ValueError("generate: every logit is -inf, so no id can follow");

  std::vector<double> up_to;  // up_to[i]: weight of the i + 1 most likely
  for (const std::size_t id : order) {
    const double weight = std::exp((values[id] - values[order[0]]) / options.temperature);
    up_to.push_back((up_to.empty() ? 0.0 : up_to.back()) + weight);
  }
  const auto nucleus = std::ranges::lower_bound(up_to, options.top_p * up_to.back());
  up_to.resize(static_cast<std::size_t>(nucleus - up_to.begin()) + 1);
  const auto drawn = std::ranges::upper_bound(up_to, rng.uniform() * up_to.back());
  const auto last = static_cast<std::ptrdiff_t>(up_to.size()) - 1;
  return static_cast<std::int64_t>(order[static_cast<std::size_t>(std::min(drawn - up_to.begin(), last))]);
}

}  // namespace tapeform::nn
