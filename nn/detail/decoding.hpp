#pragma once
#include <optional>
#include <span>
#include <tapeform/nn/decoder.hpp>
#include <tapeform/nn/generate.hpp>

namespace tapeform::nn::detail {

/// How many ids may come: what was asked for, or what there is room for. @throws ValueError when it is negative.
Dim checked_count(const char* op, std::optional<Dim> asked, Dim room);
/// @throws ValueError when more ids are asked for than a target may have.
void check_room(const char* op, std::optional<Dim> asked, const Seq2Seq& model);

/// @throws ValueError when the logit of an id is NaN or +inf.
void check_logit(double logit, std::int64_t id);
/// @throws ValueError that says so.
[[noreturn]] void throw_no_id();

/// @throws ShapeError unless the prefix is of all samples, or of each of `batch`.
void check_prefix(const char* op, const Ids& prefix, Dim batch);

/// Rules at work on the logits of a decoder.
class RuleSet {
 public:
  /// @throws ValueError, ShapeError when a rule does not fit the `vocab` ids or the `batch` sequences.
  RuleSet(const char* op, const DecodingRules& rules, std::int64_t end_id, Dim batch, Dim vocab);
  /// Sets the logits of what may not come after `made` ids to −inf; row n is a sequence of sample samples[n].
  void apply(Decoder& decoder, Dim made, std::span<const Dim> samples) const;

 private:
  template <class T>
  void hide(T* row, const std::vector<std::int64_t>& sequence, Dim made, Dim sample) const;

  const DecodingRules& rules_;
  std::int64_t end_id_;
  Dim vocab_;
};

}  // namespace tapeform::nn::detail
