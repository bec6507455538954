#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tapeform/core/shape.hpp>
#include <vector>

namespace examples::text {

/// Ids that stand for no text, the same in every vocabulary.
inline constexpr std::int64_t pad_id = 0, bos_id = 1, eos_id = 2, unk_id = 3;

struct SubwordOptions {
  tapeform::Dim size = 8000;        ///< of the vocabulary: 4 special ids, 256 bytes, characters, and what is merged from them
  double character_coverage = 1.0;  ///< share of the text whose characters get ids of their own; the others are spelled in bytes
  bool exact = true;                ///< false: a text that has no more gives a smaller vocabulary
};

/// Byte-pair encoding (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016) by SentencePiece, with bytes
/// for what the vocabulary lacks: no text is unknown.
///
/// Nothing is normalised, so `decode(encode(text)) == text` for all valid UTF-8, with one exception: U+2581 (▁), which marks a space
/// inside of pieces, comes back as a space. A word has the same pieces at the start of a text as after a space. Training on the same
/// lines gives the same bytes. Copies share the model.
class Subwords {
 public:
  /// Learns a vocabulary of `options.size`. Lines over 4,000 bytes (seldom sentences) and lines with U+2585 (SentencePiece's
  /// own mark) teach nothing.
  /// @throws UsageError when there is no text, or the size is too small for its characters or too large for its words.
  static Subwords train(std::span<const std::string> lines, const SubwordOptions& options = {});
  /// A trained model, as `bytes()` gave it; `source` names it in errors. @throws UsageError when it is something else, such as a model of
  /// SentencePiece that normalises text or has other special ids.
  explicit Subwords(std::string model_bytes, const std::string& source = "subwords");

  /// The model, to be stored.
  const std::string& bytes() const noexcept;
  /// Number of ids.
  tapeform::Dim size() const noexcept;

  /// The ids of a text, without bos and eos; none for an empty text. @throws UsageError unless it is valid UTF-8.
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// The ids of each text, those of `encode`. A word that comes again is not cut again: a large corpus takes a fraction of the time.
  /// @throws UsageError as encode.
  std::vector<std::vector<std::int64_t>> encode_all(std::span<const std::string> texts) const;
  /// The text of ids, always valid UTF-8: bytes that make up no character become U+FFFD each. Special ids are left out.
  /// @throws tapeform::ValueError for an id that is not in the vocabulary.
  std::string decode(std::span<const std::int64_t> ids) const;
  /// What each id looks like, for pictures: `▁Haus`, `<0xC3>`, `</s>`. @throws tapeform::ValueError as decode.
  std::vector<std::string> pieces(std::span<const std::int64_t> ids) const;
  /// The bytes that an id stands for, a space where the piece has its mark; none for a special id. @throws tapeform::ValueError as decode.
  const std::string& surface(std::int64_t id) const;
  /// True for an id that stands for one byte, of a character that the vocabulary lacks. @throws tapeform::ValueError as decode.
  bool is_byte(std::int64_t id) const;

 private:
  struct Model;
  explicit Subwords(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  std::shared_ptr<const Model> model_;
};

/// Text that is shown while ids come one by one: only whole characters, and all of them as soon as they are. What has been returned,
/// joined, is `decode` of all ids.
class SubwordStream {
 public:
  explicit SubwordStream(const Subwords& subwords) : subwords_(subwords) {}
  /// What can be shown now that `id` has come. @throws tapeform::ValueError as Subwords::decode.
  std::string push(std::int64_t id);
  /// What is left when no more ids come: U+FFFD for each byte of a character that was never finished. The next id begins a new text.
  std::string finish();

 private:
  Subwords subwords_;
  std::string pending_;   // the start of a character
  bool started_ = false;  // the space that encode puts in front has been left out, or there was none
};

}  // namespace examples::text
