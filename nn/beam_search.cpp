#include <tapeform/nn/beam_search.hpp>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/selection.hpp>
#include <tapeform/core/ops/softmax.hpp>
#include <tapeform/nn/decoder.hpp>
#include <utility>

#include "detail/decoding.hpp"

namespace tapeform::nn {

namespace {

struct Sequence {
  double log_probability;
  Dim row;          // of the decoder: the sequence itself, or the one that it goes on from
  std::int64_t id;  // what it goes on with
};

struct Sample {
  Dim index;                 // in the batch
  std::vector<Sequence> on;  // the most likely first
};

class Search {
 public:
  Search(Decoder& decoder, const BeamOptions& options)
      : decoder_(decoder),
        count_(detail::checked_count("beam_search", options.max_new_ids, decoder.room())),
        options_(options),
        rules_("beam_search", options.rules, options.end_id, decoder.rows(), decoder.logits().dim(1)),
        found_(static_cast<std::size_t>(decoder.rows())),
        paths_(found_.size()) {
    for (Dim b = 0; b < decoder.rows(); ++b) samples_.push_back({b, {{0.0, b, 0}}});
  }

  std::vector<std::vector<Hypothesis>> run() {
    if (count_ == 0) cut_at_once();
    for (Dim step = 1; step <= count_ && !samples_.empty(); ++step) take_step(step);
    std::vector<std::vector<Dim>> paths;
    for (const auto& of_sample : paths_) paths.insert(paths.end(), of_sample.begin(), of_sample.end());
    decoder_.tell_recorders(paths);
    return std::move(found_);
  }

 private:
  /// What is cut before its first id is a hypothesis too: nothing, for certain.
  void cut_at_once() {
    for (auto& found : found_) found.emplace_back();
    for (auto& paths : paths_) paths.emplace_back();
  }

  void take_step(Dim step) {
    const Array log_p = log_softmax(decoder_.logits()).value();  // [N, V]
    std::vector<Dim> of_rows;
    for (const Sample& sample : samples_) of_rows.insert(of_rows.end(), sample.on.size(), sample.index);
    rules_.apply(decoder_, step - 1, of_rows);
    // Of a row by its logits: log-probabilities of two that are close may have been rounded to one number.
    const TopK best = topk(decoder_.logits(), std::min(options_.beam, decoder_.logits().dim(1)), 1);  // [N, beam]
    std::vector<Dim> rows;
    std::vector<std::int64_t> ids;
    for (Sample& sample : samples_) {
      choose(sample, best, log_p, step);
      for (Sequence& sequence : sample.on) {
        rows.push_back(sequence.row);
        ids.push_back(sequence.id);
        sequence.row = std::ssize(rows) - 1;
      }
    }
    std::erase_if(samples_, [](const Sample& sample) { return sample.on.empty(); });
    if (!samples_.empty()) decoder_.advance(rows, ids);
  }

  /// Replaces the sample's sequences by those that go on; what ends becomes a hypothesis.
  void choose(Sample& sample, const TopK& best, const Array& log_probabilities, Dim step) {
    const Dim each = best.ids.dim(1);
    std::vector<Sequence> all;
    for (const Sequence& sequence : sample.on)
      for (Dim i = 0; i < each; ++i) {
        const std::int64_t id = best.ids[sequence.row * each + i];
        const double log_p = log_probabilities.at({sequence.row, id});
        if (i == 0) detail::check_logit(log_p, id);
        if (best.values.at({sequence.row, i}) == -INFINITY || log_p == -INFINITY) break;
        all.push_back({sequence.log_probability + std::min(0.0, log_p), sequence.row, id});
      }
    if (all.empty() && found_[static_cast<std::size_t>(sample.index)].empty()) detail::throw_no_id();
    std::ranges::stable_sort(all, std::ranges::greater(), &Sequence::log_probability);
    all.resize(std::min(all.size(), static_cast<std::size_t>(options_.beam)));
    sample.on.clear();
    for (const Sequence& sequence : all) {
      const bool ends = sequence.id == options_.end_id;
      if (ends || step == count_)
        keep(sample.index, sequence, step, ends);
      else
        sample.on.push_back(sequence);
    }
    if (is_done(sample, step)) sample.on.clear();
  }

  double score(double log_probability, Dim length) const {
    const double o = options_.length_offset;
    return log_probability / std::pow((o + static_cast<double>(length)) / (o + 1), options_.length_penalty);
  }

  void keep(Dim index, const Sequence& sequence, Dim step, bool ended) {
    const std::vector<std::int64_t>& before = decoder_.sequence(sequence.row);
    Hypothesis hypothesis{
        {before.end() - (step - 1), before.end()}, score(sequence.log_probability, step), sequence.log_probability, ended};
    hypothesis.ids.push_back(sequence.id);
    auto& found = found_[static_cast<std::size_t>(index)];
    const auto place = std::ranges::upper_bound(found, hypothesis.score, std::ranges::greater(), &Hypothesis::score);
    if (detail::AttentionSteps::wanted()) {
      auto& paths = paths_[static_cast<std::size_t>(index)];
      paths.insert(paths.begin() + (place - found.begin()), decoder_.path(sequence.row));
      paths.resize(std::min(paths.size(), static_cast<std::size_t>(options_.n_best)));
    }
    found.insert(place, std::move(hypothesis));
    found.resize(std::min(found.size(), static_cast<std::size_t>(options_.n_best)));
  }

  /// Log-probabilities only fall, so the best that can come has that of the first sequence, at the length that suits it most.
  bool is_done(const Sample& sample, Dim step) const {
    const auto& found = found_[static_cast<std::size_t>(sample.index)];
    if (sample.on.empty() || std::ssize(found) < options_.n_best) return false;
    const double most = sample.on[0].log_probability;
    return options_.stop_early || std::max(score(most, step + 1), score(most, count_)) <= found.back().score;
  }

  Decoder& decoder_;
  Dim count_;
  const BeamOptions& options_;
  detail::RuleSet rules_;
  std::vector<Sample> samples_;
  std::vector<std::vector<Hypothesis>> found_;        // of each sample of the batch
  std::vector<std::vector<std::vector<Dim>>> paths_;  // of the hypotheses, for attention recorders
};

/// Samples are searched in groups of so many rows, unless a recorder wants one call of all: their logits stay near, and what is kept for
/// them is let go before the next.
constexpr Dim most_rows = 512;

/// Rows [begin, end) of ids that have one for each sample of the batch.
Ids samples(const Ids& ids, Dim batch, Dim begin, Dim end) {
  if (ids.rank() < 1 || ids.dim(0) != batch) return ids;  // none, or sources whose error is told by the encoder
  Shape shape = ids.shape();
  const Dim width = batch == 0 ? 0 : ids.numel() / batch;
  shape.set(0, end - begin);
  return Ids(shape, ids.values().subspan(static_cast<std::size_t>(begin * width), static_cast<std::size_t>((end - begin) * width)));
}

void check_beam(const BeamOptions& options) {
  if (options.beam < 1 || options.n_best < 1 || options.n_best > options.beam)
    throw ValueError(
        fmt::format("beam_search: n_best must be at least 1 and at most the beam; got beam {}, n_best {}", options.beam, options.n_best));
  if (!std::isfinite(options.length_penalty) || !(options.length_offset >= 0 && std::isfinite(options.length_offset)))
    throw ValueError(fmt::format("beam_search: length_penalty must be finite and length_offset at least 0; got {} and {}",
                                 options.length_penalty, options.length_offset));
}

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(Decoder& decoder, const BeamOptions& options) {
  check_beam(options);
  return Search(decoder, options).run();
}

std::vector<std::vector<Hypothesis>> beam_search(const Seq2Seq& model, const Ids& src, const Ids& src_lens, const BeamOptions& options) {
  check_beam(options);
  detail::check_room("beam_search", options.max_new_ids, model);
  const Dim batch = src.rank() == 2 ? src.dim(0) : 1,
            each = std::max<Dim>(1, detail::AttentionSteps::wanted() ? batch : most_rows / options.beam);
  // Told here: a group may have by chance as many rows as these.
  if (src.rank() == 2 && src_lens.numel() > 0 && src_lens.shape() != Shape{batch})
    throw ShapeError(fmt::format("beam_search: src_lens must be [{}]; got {}", batch, src_lens.shape().str()));
  if (src.rank() == 2) detail::check_prefix("beam_search", options.rules.prefix, batch);
  std::vector<std::vector<Hypothesis>> found;
  for (Dim begin = 0; begin < batch; begin += each) {
    const Dim end = std::min(batch, begin + each);
    Seq2SeqDecoder decoder(model, samples(src, batch, begin, end), samples(src_lens, batch, begin, end), options.start_id);
    BeamOptions own = options;
    if (options.rules.prefix.rank() == 2) own.rules.prefix = samples(options.rules.prefix, batch, begin, end);
    std::ranges::move(Search(decoder, own).run(), std::back_inserter(found));
  }
  return found;
}

std::vector<std::vector<Hypothesis>> beam_search(const CausalLM& model, const Ids& prompt, const BeamOptions& options) {
  CausalLMDecoder decoder(model, prompt, options.prompt_lens);
  return beam_search(decoder, options);
}

}  // namespace tapeform::nn
