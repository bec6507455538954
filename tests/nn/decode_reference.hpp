#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <tapeform/core/tape.hpp>
#include <tapeform/nn/beam_search.hpp>
#include <vector>

#include "nn/common.hpp"

/// Decoding as its definition has it: one sample alone, and every step reads the whole sequence again. What is kept between steps in the
/// library, and what it shares among samples, is compared with this.
namespace reference {

using tapeform::Ids;
using tapeform::NoTape;
using Sequence = std::vector<std::int64_t>;
using LogitsOf = std::function<std::vector<double>(const Sequence& made)>;

[[maybe_unused]] inline std::vector<double> last_row(const Array& logits) {
  return part(logits, 0, logits.dim(1) - 1, logits.dim(1)).to_vector();
}

[[maybe_unused]] inline Ids one_row(const Sequence& ids) { return Ids({1, static_cast<Dim>(ids.size())}, ids); }

/// Sample b of src, without its padding.
[[maybe_unused]] inline LogitsOf of(const tapeform::nn::Seq2Seq& model, const Ids& src, const Ids& src_lens, Dim b, std::int64_t start_id) {
  const Dim length = src_lens.numel() > 0 ? src_lens[b] : src.dim(1);
  const auto ids = src.values().subspan(static_cast<std::size_t>(b * src.dim(1)), static_cast<std::size_t>(length));
  return [&model, own = Ids({1, length}, ids), start_id](const Sequence& made) {
    const NoTape no_tape;
    Sequence tgt{start_id};
    tgt.insert(tgt.end(), made.begin(), made.end());
    return last_row(model(own, Ids(), one_row(tgt)).value());
  };
}

[[maybe_unused]] inline LogitsOf of(const tapeform::nn::CausalLM& model, const Sequence& prompt) {
  return [&model, prompt](const Sequence& made) {
    const NoTape no_tape;
    Sequence all = prompt;
    all.insert(all.end(), made.begin(), made.end());
    const auto window = static_cast<std::ptrdiff_t>(std::min<std::size_t>(all.size(), static_cast<std::size_t>(model.max_len())));
    return last_row(model(one_row({all.end() - window, all.end()})).value());
  };
}

/// What follows under the rules, −inf where it may not. `before` is a prompt.
[[maybe_unused]] inline void rule(std::vector<double>& logits, const tapeform::nn::DecodingRules& rules, std::int64_t end_id, Dim sample,
                                  const Sequence& before, const Sequence& made) {
  const auto count = static_cast<Dim>(made.size()), width = rules.prefix.dim(-1);
  const std::int64_t forced = count < width ? rules.prefix[rules.prefix.rank() == 2 ? sample * width + count : count] : -1;
  Sequence all = before;
  all.insert(all.end(), made.begin(), made.end());
  const auto n = static_cast<std::size_t>(rules.no_repeat_ngram);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const auto next = static_cast<std::int64_t>(id);
    bool allowed = std::ranges::find(rules.banned, next) == rules.banned.end() && !(next == end_id && count < rules.min_new_ids);
    Sequence with = all;
    with.push_back(next);
    for (std::size_t at = 0; n > 0 && at + n < with.size(); ++at)
      allowed = allowed && !std::equal(with.end() - static_cast<Dim>(n), with.end(), with.begin() + static_cast<Dim>(at));
    if (forced >= 0) allowed = next == forced;
    if (!allowed) logits[id] = -INFINITY;
  }
}

struct Settings {
  Dim max_new_ids;
  std::int64_t end_id = -1;
  tapeform::nn::DecodingRules rules = {};
  Dim sample = 0;
  Sequence prompt = {};
};

/// Ids up to the end or the limit, and how close the closest decision was.
struct Greedy {
  Sequence ids;
  double closest = INFINITY;
};

[[maybe_unused]] inline Greedy greedy(const LogitsOf& logits_of, const Settings& s) {
  Greedy made;
  while (static_cast<Dim>(made.ids.size()) < s.max_new_ids) {
    std::vector<double> logits = logits_of(made.ids);
    rule(logits, s.rules, s.end_id, s.sample, s.prompt, made.ids);
    const auto best = std::ranges::max_element(logits) - logits.begin();
    for (std::size_t id = 0; id < logits.size(); ++id)
      if (static_cast<Dim>(id) != best) made.closest = std::min(made.closest, logits[static_cast<std::size_t>(best)] - logits[id]);
    made.ids.push_back(best);
    if (best == s.end_id) break;
  }
  return made;
}

struct Beams {
  std::vector<tapeform::nn::Hypothesis> found;  // the best first, as many as there are
  double closest = INFINITY;                    // among scores that compete
};

/// Goes on to the limit, whatever has been found.
[[maybe_unused]] inline Beams beam_search(const LogitsOf& logits_of, const tapeform::nn::BeamOptions& options, const Settings& s) {
  struct Candidate {
    Sequence ids;
    double log_p;
  };
  Beams all;
  const auto score = [&options](const Candidate& c) {
    const double o = options.length_offset;
    return c.log_p / std::pow((o + static_cast<double>(c.ids.size())) / (o + 1), options.length_penalty);
  };
  std::vector<Candidate> going{{{}, 0.0}};
  for (Dim length = 1; length <= s.max_new_ids && !going.empty(); ++length) {
    std::vector<Candidate> next;
    for (const Candidate& c : going) {
      std::vector<double> logits = logits_of(c.ids);
      const double most = *std::ranges::max_element(logits);
      double sum = 0;
      for (const double logit : logits) sum += std::exp(logit - most);
      const double total = most + std::log(sum);
      rule(logits, s.rules, s.end_id, s.sample, s.prompt, c.ids);
      for (std::size_t id = 0; id < logits.size(); ++id) {
        if (logits[id] == -INFINITY) continue;
        next.push_back({c.ids, c.log_p + logits[id] - total});
        next.back().ids.push_back(static_cast<std::int64_t>(id));
      }
    }
    std::ranges::stable_sort(next, std::ranges::greater(), &Candidate::log_p);
    for (std::size_t i = 0; i + 1 < next.size() && i < static_cast<std::size_t>(options.beam); ++i)
      all.closest = std::min(all.closest, next[i].log_p - next[i + 1].log_p);
    next.resize(std::min(next.size(), static_cast<std::size_t>(options.beam)));
    going.clear();
    for (const Candidate& c : next) {
      const bool ended = c.ids.back() == s.end_id;
      if (ended || length == s.max_new_ids)
        all.found.push_back({c.ids, score(c), c.log_p, ended});
      else
        going.push_back(c);
    }
  }
  std::ranges::stable_sort(all.found, std::ranges::greater(), &tapeform::nn::Hypothesis::score);
  for (std::size_t i = 0; i + 1 < all.found.size(); ++i) all.closest = std::min(all.closest, all.found[i].score - all.found[i + 1].score);
  return all;
}

}  // namespace reference
