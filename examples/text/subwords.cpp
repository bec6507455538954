#include "text/subwords.hpp"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <tapeform/core/error.hpp>
#include <utf8.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "common/command_line.hpp"
#include "common/utf8_text.hpp"
#include "text/utf8_steps.hpp"

namespace examples::text {

namespace sp = sentencepiece;

namespace {

constexpr std::string_view space_mark = "\xE2\x96\x81";     // U+2581
constexpr std::string_view trainers_mark = "\xE2\x96\x85";  // U+2585, which the trainer keeps for itself
constexpr std::string_view replacement = "\xEF\xBF\xBD";    // U+FFFD
constexpr std::size_t longest_line = 4000;

/// Lines for the trainer, each with the space in front that encode puts there.
class Lines final : public sp::SentenceIterator {
 public:
  explicit Lines(std::span<const std::string> lines) : lines_(lines) { settle(); }
  bool done() const override { return at_ == lines_.size(); }
  void Next() override {
    ++at_;
    settle();
  }
  const std::string& value() const override { return line_; }
  sp::util::Status status() const override { return {}; }

 private:
  void settle() {
    while (at_ < lines_.size() && is_left_out(lines_[at_])) ++at_;
    if (at_ < lines_.size()) line_ = ' ' + lines_[at_];
  }
  static bool is_left_out(const std::string& line) {
    return line.empty() || line.size() > longest_line || line.find(trainers_mark) != std::string::npos;
  }

  std::span<const std::string> lines_;
  std::size_t at_ = 0;
  std::string line_;
};

std::string quoted_number(double value) { return fmt::format("{:.8f}", value); }

std::unordered_map<std::string, std::string> trainer_settings(const SubwordOptions& options) {
  return {{"model_type", "bpe"},
          {"vocab_size", std::to_string(options.size)},
          {"hard_vocab_limit", "false"},  // a text that has less is told below, with what it has
          {"character_coverage", quoted_number(options.character_coverage)},
          {"byte_fallback", "true"},
          {"normalization_rule_name", "identity"},
          {"remove_extra_whitespaces", "false"},
          {"add_dummy_prefix", "false"},
          {"pad_id", std::to_string(pad_id)},
          {"bos_id", std::to_string(bos_id)},
          {"eos_id", std::to_string(eos_id)},
          {"unk_id", std::to_string(unk_id)},
          {"max_sentence_length", std::to_string(longest_line + 1)},
          {"num_threads", "1"},  // stored in the model: one number, the same bytes everywhere
          {"minloglevel", "4"}};
}

/// The special ids, the bytes and every character: what no vocabulary goes without.
std::size_t smallest_size(std::span<const std::string> lines) {
  std::set<char32_t> characters{U'\u2581'};
  for (const std::string& line : lines)
    for (const char32_t character : utf8::utf8to32(line))
      if (character != U' ') characters.insert(character);
  return 4 + 256 + characters.size();
}

void check(std::span<const std::string> lines, const SubwordOptions& options) {
  if (!(options.character_coverage > 0 && options.character_coverage <= 1))
    throw UsageError{fmt::format("subwords: the character coverage must lie in (0, 1]; got {}", options.character_coverage)};
  if (options.size < 261 || options.size > 1'000'000)
    throw UsageError{
        fmt::format("subwords: the vocabulary holds 4 special ids, 256 bytes and what comes on top: 261 to 1000000; got {}", options.size)};
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!utf8::is_valid(lines[i])) throw UsageError{fmt::format("subwords: line {} of the text is not valid UTF-8", i + 1)};
  if (Lines(lines).done()) throw UsageError{"subwords: there is no text to learn from"};
}

}  // namespace

struct Subwords::Model {
  std::string bytes;
  sp::SentencePieceProcessor processor;
  std::vector<std::string> surfaces;  // by id
  bool words_apart = true;            // no piece goes on behind a space, so that a word's pieces depend on that word alone

  const std::string& surface(std::int64_t id) const {
    if (id < 0 || id >= static_cast<std::int64_t>(surfaces.size()))
      throw tapeform::ValueError(fmt::format("subwords: an id of the vocabulary lies in [0, {}); got {}", surfaces.size(), id));
    return surfaces[static_cast<std::size_t>(id)];
  }
  void fill();
};

/// The bytes that each piece stands for.
void Subwords::Model::fill() {
  int next_byte = 0;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    std::string surface;
    if (processor.IsByte(id)) {
      surface = static_cast<char>(next_byte++);  // byte pieces stand in order
    } else if (!processor.IsControl(id) && !processor.IsUnknown(id)) {
      surface = processor.IdToPiece(id);
      for (std::size_t at = 0; (at = surface.find(space_mark, at)) != std::string::npos; ++at) surface.replace(at, space_mark.size(), " ");
    }
    words_apart = words_apart && surface.find(' ', 1) == std::string::npos;
    surfaces.push_back(std::move(surface));
  }
}

Subwords::Subwords(std::string model_bytes, const std::string& source) {
  const auto refuse = [&](const char* why) {
    throw UsageError{fmt::format("{}: is not a subword model that this program has trained: {}", source, why)};
  };
  const auto model = std::make_shared<Model>();
  if (model_bytes.empty()) refuse("it is empty");
  if (!model->processor.LoadFromSerializedProto(model_bytes).ok()) refuse("SentencePiece cannot read it");
  const sp::SentencePieceProcessor& processor = model->processor;
  if (processor.GetPieceSize() < 260 || processor.pad_id() != pad_id || processor.bos_id() != bos_id || processor.eos_id() != eos_id ||
      processor.unk_id() != unk_id)
    refuse("its special ids are not pad 0, bos 1, eos 2, unk 3");
  int bytes = 0;
  for (int id = 0; id < processor.GetPieceSize(); ++id)
    bytes += processor.IsByte(id) && processor.IdToPiece(id) == fmt::format("<0x{:02X}>", bytes);
  if (bytes != 256) refuse("it has no ids for bytes");
  model->fill();
  model->bytes = std::move(model_bytes);
  model_ = model;
  constexpr std::string_view probe = "  \xEF\xAC\x81 \xEF\xBC\xA1\xC2\xA0 a\xCC\x88 ";  // a ligature, a wide letter, a combining mark
  if (decode(encode(probe)) != probe) refuse("it normalises text");
}

Subwords Subwords::train(std::span<const std::string> lines, const SubwordOptions& options) {
  check(lines, options);
  Lines sentences(lines);
  std::string bytes;
  const sp::util::Status status = sp::SentencePieceTrainer::Train(trainer_settings(options), &sentences, &bytes);
  if (!status.ok()) {
    const std::size_t smallest = smallest_size(lines);
    if (options.size < static_cast<tapeform::Dim>(smallest))
      throw UsageError{
          fmt::format("subwords: 4 special ids, 256 bytes and {} characters need a vocabulary of at least {}; got {}. A character coverage "
                      "below 1 spells rare characters in bytes",
                      smallest - 260, smallest, options.size)};
    throw UsageError{fmt::format("subwords: SentencePiece cannot learn from this text: {}", status.ToString())};
  }
  Subwords trained(std::move(bytes));
  if (options.exact && trained.size() < options.size)
    throw UsageError{fmt::format("subwords: this text makes a vocabulary of at most {}; got {}", trained.size(), options.size)};
  return trained;
}

const std::string& Subwords::bytes() const noexcept { return model_->bytes; }
tapeform::Dim Subwords::size() const noexcept { return static_cast<tapeform::Dim>(model_->surfaces.size()); }
const std::string& Subwords::surface(std::int64_t id) const { return model_->surface(id); }
bool Subwords::is_byte(std::int64_t id) const {
  model_->surface(id);  // checks the id
  return model_->processor.IsByte(static_cast<int>(id));
}

std::vector<std::int64_t> Subwords::encode(std::string_view text) const {
  if (text.empty()) return {};
  check_utf8(text, "text");
  std::vector<int> ids;
  const sp::util::Status status = model_->processor.Encode(fmt::format(" {}", text), &ids);
  if (!status.ok()) throw UsageError{fmt::format("subwords: a text cannot be encoded: {}", status.ToString())};
  return {ids.begin(), ids.end()};
}

std::vector<std::vector<std::int64_t>> Subwords::encode_all(std::span<const std::string> texts) const {
  std::unordered_map<std::string_view, std::vector<std::int64_t>> known;  // words of `texts`
  std::vector<std::vector<std::int64_t>> all;
  all.reserve(texts.size());
  for (const std::string_view text : texts) {
    const bool single_spaces = !text.starts_with(' ') && !text.ends_with(' ') && text.find("  ") == std::string_view::npos;
    if (!model_->words_apart || !single_spaces) {
      all.push_back(encode(text));
      continue;
    }
    std::vector<std::int64_t>& ids = all.emplace_back();
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view word = text.substr(at, text.find(' ', at) - at);
      const auto [entry, fresh] = known.try_emplace(word);
      if (fresh) entry->second = encode(word);
      ids.insert(ids.end(), entry->second.begin(), entry->second.end());
      at += word.size() + 1;
    }
  }
  return all;
}

std::string Subwords::decode(std::span<const std::int64_t> ids) const {
  SubwordStream stream(*this);
  std::string text;
  for (const std::int64_t id : ids) text += stream.push(id);
  return text + stream.finish();
}

std::vector<std::string> Subwords::pieces(std::span<const std::int64_t> ids) const {
  std::vector<std::string> pieces;
  for (const std::int64_t id : ids) {
    model_->surface(id);  // checks the id
    pieces.push_back(model_->processor.IdToPiece(static_cast<int>(id)));
  }
  return pieces;
}

std::string SubwordStream::push(std::int64_t id) {
  pending_ += subwords_.surface(id);
  if (!started_ && !pending_.empty()) {
    if (pending_.front() == ' ') pending_.erase(0, 1);
    started_ = true;
  }
  std::string shown;
  std::size_t at = 0;
  while (at < pending_.size()) {
    const Utf8Step step = utf8_step(std::string_view(pending_).substr(at));
    if (step.kind == Utf8Step::Kind::unfinished) break;
    shown += step.kind == Utf8Step::Kind::whole ? std::string_view(pending_).substr(at, step.length) : replacement;
    at += step.length;
  }
  pending_.erase(0, at);
  return shown;
}

std::string SubwordStream::finish() {
  std::string shown;
  for (std::size_t i = 0; i < pending_.size(); ++i) shown += replacement;
  pending_.clear();
  started_ = false;
  return shown;
}

}  // namespace examples::text
