#include "detail/decoding.hpp"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <tapeform/core/error.hpp>

namespace tapeform::nn::detail {

static Dim at_least_0(const char* op, const char* name, Dim number) {
  if (number < 0) throw ValueError(fmt::format("{}: {} must be at least 0; got {}", op, name, number));
  return number;
}

Dim checked_count(const char* op, std::optional<Dim> asked, Dim room) { return at_least_0(op, "max_new_ids", asked.value_or(room)); }

void check_room(const char* op, std::optional<Dim> asked, const Seq2Seq& model) {
  if (checked_count(op, asked, 0) > model.max_len())
    throw ValueError(
        fmt::format("{}: max_new_ids must not be over the model's max_len; got max_new_ids {}, max_len {}", op, *asked, model.max_len()));
}

void check_logit(double logit, std::int64_t id) {
  if (std::isnan(logit) || logit == INFINITY)
    throw ValueError(fmt::format("generate: the logit of id {} is {}. Training has diverged, or a weight is not finite", id, logit));
}

void throw_no_id() {
  throw ValueError("generate: every logit is -inf, so no id can follow. Loosen the rules: banned, min_new_ids, no_repeat_ngram, prefix");
}

void check_prefix(const char* op, const Ids& prefix, Dim batch) {
  if (prefix.rank() != 1 && (prefix.rank() != 2 || prefix.dim(0) != batch))
    throw ShapeError(fmt::format("{}: the prefix must be [P] or [{}, P]; got {}", op, batch, prefix.shape().str()));
}

RuleSet::RuleSet(const char* op, const DecodingRules& rules, std::int64_t end_id, Dim batch, Dim vocab)
    : rules_(rules), end_id_(end_id), vocab_(vocab) {
  at_least_0(op, "min_new_ids", rules.min_new_ids);
  at_least_0(op, "no_repeat_ngram", rules.no_repeat_ngram);
  const auto check_id = [op, vocab](const char* name, std::int64_t id, std::int64_t least) {
    if (id < least || id >= vocab) throw ValueError(fmt::format("{}: {} must be from {} to {}; got {}", op, name, least, vocab - 1, id));
  };
  check_id("end_id", end_id, -1);
  for (const std::int64_t id : rules.banned) check_id("a banned id", id, 0);
  for (const std::int64_t id : rules.prefix.values()) check_id("an id of the prefix", id, -1);
  check_prefix(op, rules.prefix, batch);
}

template <class T>
void RuleSet::hide(T* row, const std::vector<std::int64_t>& sequence, Dim made, Dim sample) const {
  constexpr T never = -std::numeric_limits<T>::infinity();
  if (made < rules_.prefix.dim(-1)) {
    const std::int64_t id = rules_.prefix[(rules_.prefix.rank() == 2 ? sample * rules_.prefix.dim(1) : 0) + made];
    if (id >= 0) {
      const T logit = row[id];
      std::fill_n(row, vocab_, never);
      row[id] = logit;
      return;
    }
  }
  for (const std::int64_t id : rules_.banned) row[id] = never;
  if (made < rules_.min_new_ids && end_id_ >= 0) row[end_id_] = never;
  const Dim before = rules_.no_repeat_ngram - 1;  // ids of an n-gram but its last
  if (before < 0 || std::ssize(sequence) < before) return;
  const auto newest = sequence.end() - before;
  for (auto at = sequence.begin(); at != newest; ++at)
    if (std::equal(newest, sequence.end(), at)) row[at[before]] = never;
}

void RuleSet::apply(Decoder& decoder, Dim made, std::span<const Dim> samples) const {
  const bool none = rules_.banned.empty() && rules_.no_repeat_ngram == 0 && made >= rules_.min_new_ids && made >= rules_.prefix.dim(-1);
  if (none) return;
  dispatch(decoder.logits().dtype(), [&]<class T>(T) {
    T* const rows = decoder.logits().mutable_data<T>();
    for (Dim n = 0; n < decoder.rows(); ++n) hide(rows + n * vocab_, decoder.sequence(n), made, samples[static_cast<std::size_t>(n)]);
  });
}

}  // namespace tapeform::nn::detail
