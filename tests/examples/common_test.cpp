#include <tapeform/core/error.hpp>

#include <limits>
#include <vector>

#include "catch.hpp"
#include "common/command_line.hpp"
#include "common/progress.hpp"
#include "common/utf8_text.hpp"
#include "examples/text/texts.hpp"

using namespace examples;

namespace {

std::string parse(std::vector<const char*> arguments, std::int64_t& layers) {
  arguments.insert(arguments.begin(), "example");
  CommandLine options("example", "An example.");
  options.add("--layers", layers, "layers", 1, 8);
  return usage_error([&] { options.parse(static_cast<int>(arguments.size()), arguments.data()); });
}

}  // namespace

TEST_CASE("command line: values, defaults and what is wrong, by name") {
  std::int64_t layers = 2;
  CHECK(parse({}, layers) == "no error");
  CHECK(layers == 2);
  CHECK(parse({"--layers", "4", "--seed", "7", "--quiet"}, layers) == "no error");
  CHECK(layers == 4);
  CHECK_THAT(parse({"--layers", "9"}, layers), Contains("--layers") && Contains("9"));
  CHECK_THAT(parse({"--layers", "four"}, layers), Contains("--layers") && Contains("four"));
  CHECK_THAT(parse({"--seeds", "1"}, layers), Contains("--seeds"));
  CHECK_THAT(parse({"--seed", "-1"}, layers), Contains("--seed"));
}

TEST_CASE("progress: a bar at a terminal, a plain line elsewhere") {
  Progress bar({.total = 200, .terminal = true, .width = 10});
  CHECK(bar.line(50, 1.25, 10.0) == "[##........] 50/200  loss 1.2500  0 tokens/s  0:30 left");
  Progress plain({.total = 200});
  CHECK(plain.line(200, 0.5, 10.0) == "update 200/200  loss 0.5000  0 tokens/s  0:00 left");
  CHECK(clock_time(65) == "1:05");
  CHECK(clock_time(7267) == "2:01:07");
  CHECK(clock_time(std::numeric_limits<double>::infinity()) == "0:00");
}

TEST_CASE("text: valid UTF-8 only, errors name file and line") {
  CHECK(decode_utf8("a\xC3\xA4\xE4\xBD\xA0", "x") == U"aä你");
  CHECK(encode_utf8(U"aä你") == "a\xC3\xA4\xE4\xBD\xA0");
  CHECK(decode_utf8("", "x").empty());
  CHECK(usage_error([] { decode_utf8("one\ntw\xFF", "letters.txt"); }) == "letters.txt: line 2 is not valid UTF-8 (byte 0xff at offset 6)");
  CHECK_THAT(usage_error([] { decode_utf8("\xC3", "cut.txt"); }), Contains("cut.txt: line 1"));
  CHECK(usage_error([] { read_file("/nowhere/text"); }) == "/nowhere/text: No such file or directory");
  CHECK(usage_error([] { read_file("/"); }) == "/: is a folder, not a file");
  CHECK(read_file("/dev/null").empty());
  CHECK(usage_error([] { read_file("/dev/zero"); }) == "/dev/zero: holds more than the 16777216 bytes that are read at most");
  const std::string file = TAPEFORM_TESTS_DIR "/catch.hpp", text = read_file(file);
  CHECK(read_file(file, text.size()) == text);
  CHECK(usage_error([&] { read_file(file, 100); }) == file + ": holds more than the 100 bytes that are read at most");
  CHECK_THROWS_AS(write_file("/nowhere/picture.svg", "x"), tapeform::IoError);
}

TEST_CASE("alphabet: ids in order of the characters, unknown ones by name") {
  const Alphabet alphabet(U"banana");
  CHECK(alphabet.size() == 3);
  CHECK(alphabet.encode(U"nab") == std::vector<std::int64_t>{2, 0, 1});
  CHECK(alphabet.decode({2, 0, 1}) == U"nab");
  CHECK_THAT(usage_error([&] { alphabet.encode(U"nä"); }), Contains("U+00E4"));
}
