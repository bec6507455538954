#include <tapeform/nn/decoder.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/embedding.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/tape.hpp>
#include <utility>

namespace tapeform::nn {

Decoder::~Decoder() = default;

void Decoder::advance(std::span<const Dim> from, std::span<const std::int64_t> ids) {
  if (from.size() != ids.size())
    throw ShapeError(fmt::format("decoder: every row needs one id; got {} rows, {} ids", from.size(), ids.size()));
  std::vector<std::vector<std::int64_t>> sequences;
  sequences.reserve(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] < 0 || from[i] >= rows()) throw ShapeError(fmt::format("decoder: rows are 0 to {}; got {}", rows() - 1, from[i]));
    sequences.push_back(sequence(from[i]));
    sequences.back().push_back(ids[i]);
  }
  if (detail::AttentionSteps::wanted()) {
    std::vector<std::vector<Dim>> paths;
    for (std::size_t i = 0; i < from.size(); ++i) {
      paths.push_back(path(from[i]));
      paths.back().push_back(static_cast<Dim>(i));
    }
    paths_ = std::move(paths);
  }
  sequences_ = std::move(sequences);
  cache_.keep(from);
  const NoTape no_tape;
  const detail::AttentionSteps::Step telling;
  step(Ids({rows(), 1}, ids));
}

std::vector<Dim> Decoder::path(Dim row) const { return paths_.empty() ? std::vector<Dim>{row} : paths_.at(static_cast<std::size_t>(row)); }

Seq2SeqDecoder::Seq2SeqDecoder(const Seq2Seq& model, const Ids& src, const Ids& src_lens, std::int64_t start_id)
    : Decoder(model.max_len()), model_(model) {
  const NoTape no_tape;
  const Tensor memory = model.encode(src, src_lens);
  const FirstStep telling;
  const Tensor first = model.decode(Ids::full({src.dim(0), 1}, start_id), memory, src_lens, {.cache = &cache_});  // [B, 1, D]
  logits_ = model.logits(reshape(first, {src.dim(0), first.dim(2)})).value();
  sequences_.resize(static_cast<std::size_t>(src.dim(0)));
}

void Seq2SeqDecoder::step(const Ids& newest) {
  const Tensor last = model_.decode(newest, Tensor(), Ids(), {.cache = &cache_});  // [N, 1, D]
  logits_ = model_.logits(reshape(last, {last.dim(0), last.dim(2)})).value();
}

CausalLMDecoder::CausalLMDecoder(const CausalLM& model, const Ids& prompt, const Ids& prompt_lens)
    : Decoder(std::max<Dim>(0, model.max_len() - (prompt.rank() == 2 ? prompt.dim(1) : 0))), model_(model) {
  if (prompt.rank() != 2 || prompt.dim(1) < 1)
    throw ShapeError(fmt::format("generate: the prompt must be ids [B, T] with at least one in every row; got {}", prompt.shape().str()));
  const Dim batch = prompt.dim(0), time = prompt.dim(1);
  const Ids lens = prompt_lens.numel() > 0 ? prompt_lens : Ids::full({batch}, time);
  if (lens.shape() != Shape{batch}) throw ShapeError(fmt::format("generate: prompt_lens must be [{}]; got {}", batch, lens.shape().str()));
  for (Dim b = 0; b < batch; ++b) {
    if (lens[b] < 1 || lens[b] > time)
      throw ValueError(fmt::format("generate: prompt_lens must be from 1 to {}; got {} for prompt {}", time, lens[b], b));
    const auto ids = prompt.values().subspan(static_cast<std::size_t>(b * time), static_cast<std::size_t>(lens[b]));
    sequences_.emplace_back(ids.begin(), ids.end());
  }
  const NoTape no_tape;
  const FirstStep telling;
  read_windows();
}

void CausalLMDecoder::read_windows() {
  cache_ = {};
  const auto length_of = [this](const auto& sequence) { return std::min(static_cast<Dim>(sequence.size()), model_.max_len()); };
  Dim time = 0;
  std::vector<std::int64_t> lens, last;
  for (const auto& sequence : sequences_) {
    lens.push_back(length_of(sequence));
    time = std::max(time, lens.back());
  }
  Ids ids = Ids::full({rows(), time}, 0);
  ids.write([this, &lens, &last, time](std::span<std::int64_t> values) {
    for (std::size_t n = 0; n < lens.size(); ++n) {
      const auto begin = static_cast<Dim>(n) * time;
      std::copy(sequences_[n].end() - lens[n], sequences_[n].end(), values.begin() + begin);
      last.push_back(begin + lens[n] - 1);
    }
  });
  const Tensor all = model_.hiddens(ids, {.lens = Ids(lens), .cache = &cache_});  // [N, T, D]
  logits_ = model_.logits(embedding(reshape(all, {rows() * time, all.dim(2)}), Ids(last))).value();
}

void CausalLMDecoder::step(const Ids& newest) {
  const auto is_long = [this](const auto& sequence) { return static_cast<Dim>(sequence.size()) > model_.max_len(); };
  if (std::ranges::any_of(sequences_, is_long)) return read_windows();
  const Tensor last = model_.hiddens(newest, {.cache = &cache_});  // [N, 1, D]
  logits_ = model_.logits(reshape(last, {last.dim(0), last.dim(2)})).value();
}

}  // namespace tapeform::nn
