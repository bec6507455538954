#pragma once
#include <cstdint>
#include <span>
#include <tapeform/core/ids.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/nn/seq2seq.hpp>
#include <vector>

namespace tapeform::nn {

/// Sequences that grow by an id a step: what `generate` and `beam_search` are made of, and what searches of your own start from.
///
///     nn::Seq2SeqDecoder decoder(model, src, src_lens, bos);
///     while (…) decoder.advance(rows, ids);  // chosen by decoder.logits()
///
/// Derive from it to search with models of your own. Of these two, keys and values of what went by are kept, those of the memory are made
/// once, and rows that nobody goes on with leave the batch; no row is ever copied. Nothing is recorded, whatever tape is there. The model
/// must outlive its decoder, and not change under it.
class Decoder {
 public:
  virtual ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// How many ids may come when nobody says otherwise.
  Dim room() const noexcept { return room_; }
  Dim rows() const noexcept { return static_cast<Dim>(sequences_.size()); }
  /// [N, V]: of the id that follows each row. They are yours to change.
  Array& logits() noexcept { return logits_; }
  /// The ids of a row so far: a prompt, then what came in by `advance`. A start id is none of them.
  const std::vector<std::int64_t>& sequence(Dim row) const { return sequences_.at(static_cast<std::size_t>(row)); }
  /// Row i is from now on what row from[i] was, with ids[i] behind it: rows may be taken in any order, several times or not at all.
  /// @throws ShapeError when there is no such row, or not one id for each; ValueError when an id is none of the vocabulary.
  void advance(std::span<const Dim> from, std::span<const std::int64_t> ids);

  /// Where a row stood in the batch of every step so far.
  std::vector<Dim> path(Dim row) const;
  /// Gives attention recorders one call, with a sequence for each path. `generate` and `beam_search` do it with what they give back.
  void tell_recorders(const std::vector<std::vector<Dim>>& paths) const { steps_.join(paths); }

 protected:
  explicit Decoder(Dim room) : room_(room) {}
  /// What a constructor reads of the targets while this lives is the first step for attention recorders.
  using FirstStep = detail::AttentionSteps::Step;
  /// Sets the logits, after `newest` [N, 1].
  virtual void step(const Ids& newest) = 0;

  std::vector<std::vector<std::int64_t>> sequences_;
  TransformerCache cache_;
  Array logits_;

 private:
  Dim room_;
  detail::AttentionSteps steps_;
  std::vector<std::vector<Dim>> paths_;  // of each row, when a recorder listens
};

/// Targets of a Seq2Seq: one row for each source at first.
class Seq2SeqDecoder final : public Decoder {
 public:
  /// src [B, S], src_lens [B] (`Ids()`: all valid); every target begins with `start_id`. @throws ShapeError, ValueError as `encode`.
  Seq2SeqDecoder(const Seq2Seq& model, const Ids& src, const Ids& src_lens, std::int64_t start_id);

 private:
  void step(const Ids& newest) override;

  const Seq2Seq& model_;
};

/// Continuations of prompts by a language model. From its `max_len` ids on a row is read through a window of the last ones: their positions
/// change at every step, so that nothing can be kept.
class CausalLMDecoder final : public Decoder {
 public:
  /// prompt [B, T], prompt_lens [B], each at least 1 (`Ids()`: all of T): what stands beyond a length is not read.
  /// @throws ShapeError, ValueError.
  CausalLMDecoder(const CausalLM& model, const Ids& prompt, const Ids& prompt_lens = {});

 private:
  void step(const Ids& newest) override;
  void read_windows();

  const CausalLM& model_;
};

}  // namespace tapeform::nn
