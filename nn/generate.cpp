#include <tapeform/nn/generate.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/selection.hpp>
#include <tapeform/nn/decoder.hpp>
#include <utility>

#include "detail/decoding.hpp"

namespace tapeform::nn {

namespace {

void check_best(double logit, std::int64_t id) {
  detail::check_logit(logit, id);
  if (logit == -INFINITY) detail::throw_no_id();
}

/// The next id of every row of logits [N, V]: drawn by `rng`, or the most likely without one.
std::vector<std::int64_t> choose(const Array& logits, Rng* rng, const SamplingOptions& options) {
  const Dim rows = logits.dim(0), vocab = logits.dim(1);
  std::vector<std::int64_t> ids;
  if (!rng || options.temperature == 0) {
    const Ids best = argmax(logits, 1);
    for (Dim n = 0; n < rows; ++n) check_best(logits.at({n, best[n]}), best[n]);
    ids.assign(best.values().begin(), best.values().end());
  } else {
    for (Dim n = 0; n < rows; ++n) ids.push_back(sample_id(logits.rows(n, n + 1).reshape({vocab}), *rng, options));
  }
  return ids;
}

/// Rows of ids as one table, filled up with `end_id`.
Ids table(const std::vector<std::vector<std::int64_t>>& rows, std::int64_t end_id) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  std::vector<std::int64_t> flat;
  for (const auto& row : rows) {
    flat.insert(flat.end(), row.begin(), row.end());
    flat.resize(flat.size() + longest - row.size(), end_id);
  }
  return Ids({static_cast<Dim>(rows.size()), static_cast<Dim>(longest)}, flat);
}

void check_sampling(const SamplingOptions& options) {
  if (!std::isfinite(options.temperature) || options.temperature < 0)
    throw ValueError(fmt::format("generate: temperature must be finite and at least 0; got {}", options.temperature));
  if (options.top_k < 0) throw ValueError(fmt::format("generate: top_k must be at least 0 (0: all); got {}", options.top_k));
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw ValueError(fmt::format("generate: top_p must be over 0 and at most 1; got {}", options.top_p));
}

/// Goes on with every row until it ends.
Ids extend(Decoder& decoder, Rng* rng, const SamplingOptions& options) {
  check_sampling(options);
  const Dim count = detail::checked_count("generate", options.max_new_ids, decoder.room());
  std::vector<Dim> samples(static_cast<std::size_t>(decoder.rows()));  // of the rows that go on
  std::iota(samples.begin(), samples.end(), Dim{0});
  std::vector<std::vector<std::int64_t>> made(samples.size());
  std::vector<std::vector<Dim>> paths(samples.size());  // for attention recorders
  const detail::RuleSet rules("generate", options.rules, options.end_id, decoder.rows(), decoder.logits().dim(1));
  for (Dim step = 0; step < count && !samples.empty(); ++step) {
    rules.apply(decoder, step, samples);
    const std::vector<std::int64_t> ids = choose(decoder.logits(), rng, options);
    std::vector<Dim> rows, going;
    std::vector<std::int64_t> newest;
    for (std::size_t n = 0; n < ids.size(); ++n) {
      const auto sample = static_cast<std::size_t>(samples[n]);
      made[sample].push_back(ids[n]);
      if (detail::AttentionSteps::wanted()) paths[sample] = decoder.path(static_cast<Dim>(n));
      if (ids[n] == options.end_id) continue;
      rows.push_back(static_cast<Dim>(n));
      going.push_back(samples[n]);
      newest.push_back(ids[n]);
    }
    samples = std::move(going);
    if (step + 1 < count && !samples.empty()) decoder.advance(rows, newest);
  }
  decoder.tell_recorders(paths);
  return table(made, options.end_id);
}

SamplingOptions without_chance(const GreedyOptions& options) {
  return {.max_new_ids = options.max_new_ids,
          .start_id = options.start_id,
          .end_id = options.end_id,
          .rules = options.rules,
          .prompt_lens = options.prompt_lens};
}

}  // namespace

Ids generate(Decoder& decoder, const GreedyOptions& options) { return extend(decoder, nullptr, without_chance(options)); }

Ids generate(Decoder& decoder, Rng& rng, const SamplingOptions& options) { return extend(decoder, &rng, options); }

Ids generate(const Seq2Seq& model, const Ids& src, const Ids& src_lens, const GreedyOptions& options) {
  detail::check_room("generate", options.max_new_ids, model);
  Seq2SeqDecoder decoder(model, src, src_lens, options.start_id);
  return generate(decoder, options);
}

Ids generate(const CausalLM& model, const Ids& prompt, const GreedyOptions& options) {
  CausalLMDecoder decoder(model, prompt, options.prompt_lens);
  return generate(decoder, options);
}

Ids generate(const Seq2Seq& model, const Ids& src, const Ids& src_lens, Rng& rng, const SamplingOptions& options) {
  detail::check_room("generate", options.max_new_ids, model);
  Seq2SeqDecoder decoder(model, src, src_lens, options.start_id);
  return generate(decoder, rng, options);
}

Ids generate(const CausalLM& model, const Ids& prompt, Rng& rng, const SamplingOptions& options) {
  CausalLMDecoder decoder(model, prompt, options.prompt_lens);
  return generate(decoder, rng, options);
}

std::int64_t sample_id(const Array& logits, Rng& rng, const SamplingOptions& options) {
  check_sampling(options);
  if (logits.rank() != 1 || logits.numel() == 0)
    throw ShapeError(fmt::format("sample_id: logits must be [V] with at least one; got {}", logits.shape().str()));
  const Dim most = options.temperature == 0 ? 1 : options.top_k > 0 ? std::min(options.top_k, logits.numel()) : logits.numel();
  const TopK top = topk(logits, most);
  const std::vector<double> values = top.values.to_vector();
  check_best(values[0], top.ids[0]);
  if (options.temperature == 0) return top.ids[0];

  std::vector<double> up_to;  // up_to[i]: weight of the i + 1 most likely
  for (const double value : values)
    up_to.push_back((up_to.empty() ? 0.0 : up_to.back()) + std::exp((value - values[0]) / options.temperature));
  const auto nucleus = std::ranges::lower_bound(up_to, options.top_p * up_to.back());
  up_to.resize(static_cast<std::size_t>(nucleus - up_to.begin()) + 1);
  const auto drawn = std::ranges::upper_bound(up_to, rng.uniform() * up_to.back());
  return top.ids[std::min(drawn - up_to.begin(), std::ssize(up_to) - 1)];
}

}  // namespace tapeform::nn
