#include <tapeform/core/error.hpp>
#include <tapeform/core/random.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "common/utf8_text.hpp"
#include "examples/text/texts.hpp"
#include "text/subwords.hpp"
#include "text/vocabularies.hpp"

using namespace examples;
using namespace examples::text;
using Ids = std::vector<std::int64_t>;

namespace {

const Subwords& small() {
  static const Subwords subwords = Subwords::train(german_lines(), {.size = 360});
  return subwords;
}

/// A character from one of many corners of Unicode, never a surrogate and never U+2581.
char32_t any_character(tapeform::Rng& rng) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range ranges[] = {{0x00, 0x1F},     {0x20, 0x7E},       {0x61, 0x7A},        {0x7F, 0xFF},     {0x300, 0x36F},
                                     {0x400, 0x4FF},   {0x590, 0x6FF},     {0x2000, 0x206F},    {0x2580, 0x2580}, {0x2582, 0x259F},
                                     {0x4E00, 0x9FFF}, {0xD7A4, 0xD7FF},   {0xE000, 0xF8FF},    {0xFB00, 0xFB06}, {0xFE00, 0xFE0F},
                                     {0xFEFF, 0xFFFF}, {0x1F300, 0x1F6FF}, {0x10FF00, 0x10FFFF}};
  const Range range = ranges[rng.below(std::size(ranges))];
  return range.first + static_cast<char32_t>(rng.below(range.last - range.first + 1));
}

}  // namespace

TEST_CASE("subwords: fixed special ids, bytes, and pieces that mark where words begin") {
  CHECK(small().size() == 360);
  const Ids special{pad_id, bos_id, eos_id, unk_id};
  CHECK(small().pieces(special) == std::vector<std::string>{"<pad>", "<s>", "</s>", "<unk>"});
  CHECK(special == Ids{0, 1, 2, 3});
  const Ids ids = small().encode("Hund Hund");
  REQUIRE(ids.size() % 2 == 0);
  CHECK(std::equal(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 2),  // at the start as after a space
                   ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 2)));
  CHECK(small().pieces(ids).front().starts_with("\xE2\x96\x81"));
  CHECK(small().encode("Der Hund").size() < 5);
  CHECK(small().encode("").empty());
  CHECK(small().decode({}).empty());
  CHECK(small().decode(Ids{pad_id, bos_id, eos_id, unk_id}).empty());
  Ids framed = small().encode("Der Hund");
  framed.insert(framed.begin(), bos_id);
  framed.insert(framed.end(), {eos_id, pad_id, pad_id});
  CHECK(small().decode(framed) == "Der Hund");
}

TEST_CASE("subwords: text that looks like a special piece is text") {
  std::vector<std::string> lines(50, "<s> </s> <pad> <unk> <0x41> <s></s>");
  lines.emplace_back("ein Wort");
  const Subwords subwords = Subwords::train(lines, {.size = 285, .exact = false});
  for (const char* const text : {"<s>", "</s>", "<0x41>", "<pad><unk>", " <s> "}) {
    const Ids ids = subwords.encode(text);
    CHECK(subwords.decode(ids) == text);
    CHECK(std::ranges::none_of(ids, [](std::int64_t id) { return id <= unk_id; }));
  }
}

TEST_CASE("subwords: 20,000 random strings of all of Unicode come back as they were") {
  tapeform::Rng rng(7);
  std::int64_t wrong = 0, unknown = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::u32string text;
    const std::int64_t length = rng.below(40);
    for (std::int64_t j = 0; j < length; ++j) text += any_character(rng);
    const std::string bytes = encode_utf8(text);
    const Ids ids = small().encode(bytes);
    wrong += small().decode(ids) != bytes;
    unknown += std::ranges::any_of(ids, [](std::int64_t id) { return id <= unk_id; });
  }
  CHECK(wrong == 0);
  CHECK(unknown == 0);
  for (const std::string& line : german_lines()) CHECK(small().decode(small().encode(line)) == line);
  for (const std::string text : {" ", "  ", " a", "a ", "a  b", "\n", "\t\r\n", "\xC2\xA0", "\xE2\x80\x8B"})
    CHECK(small().decode(small().encode(text)) == text);
  CHECK(small().decode(small().encode("a\xE2\x96\x81"
                                      "b")) == "a b");  // the one exception
  const std::string long_word(10'000, 'x');
  CHECK(small().decode(small().encode(long_word)) == long_word);
}

TEST_CASE("subwords: many texts at once have the ids of each alone, however spaces and marks stand in them") {
  std::vector<std::string> texts = german_lines();
  const std::vector<std::string> edges{"",       " ",     "  ", "a",     " a",         "a ",          "a  b", "a b a",
                                       "\t a\n", "a▁b a", "▁",  "▁ ▁ a", "\xC2\xA0 a", "</s> <0x41>", "𝄞 𝄞"};
  texts.insert(texts.end(), edges.begin(), edges.end());
  tapeform::Rng rng(7);
  for (int i = 0; i < 2000; ++i) {
    std::u32string text;
    for (std::int64_t n = rng.below(12); n > 0; --n) text += rng.below(3) == 0 ? U' ' : any_character(rng);
    texts.push_back(encode_utf8(text));
  }
  const std::vector<Ids> all = small().encode_all(texts);
  REQUIRE(all.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (all[i] != small().encode(texts[i])) FAIL_CHECK(texts[i]);
  CHECK_THROWS_AS(small().encode_all(std::vector<std::string>{"gut", "schlecht \xFF"}), UsageError);
}

TEST_CASE("subwords: the same lines give the same bytes, which load from memory") {
  const Subwords again = Subwords::train(german_lines(), {.size = 360});
  CHECK(again.bytes() == small().bytes());
  const Subwords loaded(small().bytes());
  CHECK(loaded.bytes() == small().bytes());
  CHECK(loaded.encode("Eine müde Straße") == small().encode("Eine müde Straße"));
}

TEST_CASE("subwords: what cannot be learned from is one error") {
  const auto train = [](const std::vector<std::string>& lines, const SubwordOptions& options) {
    return usage_error([&] { Subwords::train(lines, options); });
  };
  CHECK(train({}, {}) == "subwords: there is no text to learn from");
  CHECK(train({"", ""}, {}) == "subwords: there is no text to learn from");
  CHECK(train({"\xE2\x96\x85"}, {}) == "subwords: there is no text to learn from");
  CHECK(train({std::string(5000, 'a')}, {}) == "subwords: there is no text to learn from");
  CHECK(train({"good",
               "b\xFF"
               "d"},
              {}) == "subwords: line 2 of the text is not valid UTF-8");
  CHECK(train({"abc"}, {.size = 260}) ==
        "subwords: the vocabulary holds 4 special ids, 256 bytes and what comes on top: 261 to 1000000; got 260");
  CHECK(train({"abc"}, {.character_coverage = 0}) == "subwords: the character coverage must lie in (0, 1]; got 0");
  const std::vector<std::string> lines = german_lines();
  CHECK_THAT(train(lines, {.size = 270}), Contains("need a vocabulary of at least 289") && Contains("; got 270. A character coverage"));
  const std::string large = train(lines, {.size = 50'000});
  CHECK_THAT(large, StartsWith("subwords: this text makes a vocabulary of at most ") && EndsWith("; got 50000"));
  const tapeform::Dim most = std::stoll(large.substr(large.find("most ") + 5));
  CHECK(Subwords::train(lines, {.size = most}).size() == most);  // the number that the error tells works
  CHECK(Subwords::train(lines, {.size = 50'000, .exact = false}).size() == most);
}

TEST_CASE("subwords: a file of something else is one error that names it") {
  const auto load = [](const std::string& bytes) { return usage_error([&] { Subwords(bytes, "run/subwords.model"); }); };
  CHECK(load("") == "run/subwords.model: is not a subword model that this program has trained: it is empty");
  CHECK_THAT(load("some text\n"), StartsWith("run/subwords.model: is not a subword model"));
  CHECK_THAT(load(std::string(1000, '\0')), StartsWith("run/subwords.model: is not a subword model"));
  const std::string& good = small().bytes();
  for (std::size_t length = 1; length < good.size(); length += 97) {  // cut short anywhere: told, or a whole model of fewer pieces
    INFO(length);
    CHECK_THAT(load(good.substr(0, length)), StartsWith("run/subwords.model: is not a subword model") || Equals("no error"));
  }
}

TEST_CASE("subwords: a model of SentencePiece that would change text or ids without a word is refused") {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string bytes = small().bytes();
    const std::size_t at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    return usage_error([&] { Subwords(bytes.replace(at, from.size(), to), "foreign"); });
  };
  const std::string not_ours = "foreign: is not a subword model that this program has trained: ";
  CHECK(changed("<pad>", "<pod>") == not_ours + "its special ids are not pad 0, bos 1, eos 2, unk 3");
  // The normaliser's fields 3 and 4, a space in front and white space that is squeezed, are 0.
  const std::string off("\x18\0\x20\0", 4), squeezing("\x18\0\x20\1", 4), in_front("\x18\1\x20\0", 4);
  CHECK(changed(off, squeezing) == not_ours + "it normalises text");
  CHECK(changed(off, in_front) == not_ours + "it normalises text");
  CHECK(changed(off, off) == "no error");
}

TEST_CASE("subwords: ids outside of the vocabulary and invalid text are errors") {
  CHECK_THROWS_WITH(small().decode(Ids{5, 360}), "subwords: an id of the vocabulary lies in [0, 360); got 360");
  CHECK_THROWS_AS(small().pieces(Ids{-1}), tapeform::ValueError);
  CHECK(usage_error([] { small().encode("a\nb\xC3("); }) == "text: line 2 is not valid UTF-8 (byte 0xc3 at offset 3)");
}

TEST_CASE("TX-01: character split over tokens", "[case]") {
  const auto byte = [](int value) { return std::int64_t{4 + value}; };  // byte pieces follow the special ids
  REQUIRE(small().pieces(Ids{byte(0xF0)}) == std::vector<std::string>{"<0xF0>"});
  const std::vector<std::vector<int>> characters{{0xF0, 0x9F, 0x98, 0x8A}, {0xE4, 0xBD, 0xA0}, {0xC3, 0xA4}};
  for (const std::vector<int>& bytes : characters) {
    std::string whole;
    for (const int value : bytes) whole += static_cast<char>(value);
    SubwordStream stream(small());
    for (std::size_t i = 0; i + 1 < bytes.size(); ++i) CHECK(stream.push(byte(bytes[i])).empty());
    CHECK(stream.push(byte(bytes.back())) == whole);
    CHECK(stream.finish().empty());
  }
  // A start that nothing finishes is shown when it is certain: U+FFFD for each byte.
  const Ids cut{byte(0xF0), byte(0x9F), byte('a')};
  SubwordStream stream(small());
  CHECK(stream.push(cut[0]).empty());
  CHECK(stream.push(cut[1]).empty());
  CHECK(stream.push(cut[2]) ==
        "\xEF\xBF\xBD\xEF\xBF\xBD"
        "a");
  CHECK(stream.push(byte(0xC3)).empty());
  CHECK(stream.finish() == "\xEF\xBF\xBD");
  std::string next;  // a stream that was finished begins anew: the space in front is left out again
  for (const std::int64_t id : small().encode("Der Hund")) next += stream.push(id);
  CHECK(next == "Der Hund");
  // Any ids whatever: what is streamed is what is decoded whole, and valid.
  tapeform::Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    Ids ids;
    for (std::int64_t j = rng.below(20); j > 0; --j) ids.push_back(rng.below(2) ? byte(static_cast<int>(rng.below(256))) : rng.below(360));
    SubwordStream random(small());
    std::string streamed;
    for (const std::int64_t id : ids) {
      const std::string shown = random.push(id);
      CHECK(usage_error([&] { check_utf8(shown, "shown"); }) == "no error");
      streamed += shown;
    }
    streamed += random.finish();
    CHECK(streamed == small().decode(ids));
  }
}

TEST_CASE("vocabularies: joint or one each, stored in a folder and loaded again") {
  const ParallelText text{german_lines(), english_lines()};
  for (const bool joint : {true, false}) {
    const TemporaryFolder folder("vocabularies");
    const Vocabularies trained = Vocabularies::train(text, {.joint = joint, .size = 350});
    trained.save(folder.path);
    const Vocabularies loaded = Vocabularies::load(folder.path);
    CHECK(loaded.joint == joint);
    CHECK(loaded.source.bytes() == trained.source.bytes());
    CHECK(loaded.target.bytes() == trained.target.bytes());
    CHECK((loaded.source.bytes() == loaded.target.bytes()) == joint);
    CHECK(loaded.target.decode(loaded.target.encode("The tired dog")) == "The tired dog");
  }
  const TemporaryFolder again("vocabularies_again");  // what was there before is not loaded in place of what was saved last
  for (const bool joint : {false, true, false}) {
    Vocabularies::train(text, {.joint = joint, .size = 350}).save(again.path);
    CHECK(Vocabularies::load(again.path).joint == joint);
  }
  const TemporaryFolder empty("no_vocabularies");
  CHECK_THAT(usage_error([&] { Vocabularies::load(empty.path); }), Contains("subwords.model: No such file"));
  CHECK_THAT(usage_error([&] { Vocabularies::train(text, {.joint = false, .size = 9000}); }), StartsWith("source subwords: this text"));
  CHECK_THROWS_AS(Vocabularies::train(text, {.size = 350}).save("/nowhere"), tapeform::IoError);
}

TEST_CASE("vocabularies: pairs over a number of ids are left out and counted") {
  const ParallelText text{{"Der Hund", "Der Hund sieht den Ball."}, {"The dog", "x"}};
  const Vocabularies both = Vocabularies::train({german_lines(), english_lines()}, {.size = 350});
  const auto longest = static_cast<std::int64_t>(both.source.encode(text.source[1]).size());
  DropReport report{.read = 2};
  CHECK(both.encode(text, longest, &report).size() == 2);
  CHECK(report.dropped() == 0);
  CHECK(both.encode(text, longest - 1, &report).size() == 1);
  CHECK(report.too_long == 1);
  CHECK(both.encode(text).source[1] == both.source.encode(text.source[1]));
}
