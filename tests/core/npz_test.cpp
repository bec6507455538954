#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/npz.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "core/files.hpp"

using namespace tapeform;

namespace {

std::string numpy_file(const std::string& name) { return TAPEFORM_TESTS_DIR "/golden/numpy/" + name; }

const std::vector<double> numbers{0.5, -1.25, 3, 65504, 0x1p-24, -0.0};

std::vector<std::int64_t> values(const Ids& ids) { return {ids.values().begin(), ids.values().end()}; }

/// What tests/golden/numpy_files.py expects in ours.npz.
std::vector<io::NamedTensor> ours() {
  return {{"w", Array::of({2, 3}, std::span<const double>(numbers)).cast(DType::float32)},
          {"d", Array::of({2, 2}, {0.5, -1.25, 65504, 0x1p-24}, DType::float64)},
          {"ids", Ids{3, -1, std::int64_t{1} << 62}},
          {"s", Array::of({}, {0.1}, DType::float64)},
          {"none", Array::zeros({2, 0})},
          {"größe", Array::ones({1})}};
}

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  if (version > 1) bytes += {'\0', '\0'};
  return bytes + header + data;
}

std::string error_of(const std::string& bytes, bool zip = false) {
  const TemporaryFile file("malformed.npy");
  write_bytes(file.path, bytes);
  std::string text = message<Error>([&] {
    if (zip)
      io::read_npz(file.path);
    else
      io::read_npy(file.path);
  });
  const auto at = text.find(file.path);
  return at == std::string::npos ? text : text.replace(at, file.path.size(), "FILE");
}

std::string error_of_header(const std::string& header, std::size_t data = 8) { return error_of(npy(header, std::string(data, '\0'))); }

std::string error_of_descr(const std::string& descr) {
  return error_of_header("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }\n");
}

}  // namespace

TEST_CASE("npz: every kind of number that numpy writes, in both byte orders, C and Fortran order") {
  const io::NamedTensors read = io::read_npz(numpy_file("kinds.npz"));
  for (const std::string order : {"<", ">"}) {
    INFO(order);
    CHECK(read.array(order + "f8").dtype() == DType::float64);
    CHECK(read.array(order + "f8").to_vector() == numbers);
    CHECK(std::signbit(read.array(order + "f8").at({1, 2})));
    for (const std::string kind : {"f2", "f4"}) {
      CHECK(read.array(order + kind).dtype() == DType::float32);
      CHECK(read.array(order + kind).shape() == Shape{2, 3});
      CHECK(read.array(order + kind).to_vector() == numbers);
    }
    for (int width = 1; width <= 8; width *= 2) {
      const std::string kind = std::to_string(width);
      const std::int64_t high = static_cast<std::int64_t>((std::uint64_t{1} << (8 * width - 1)) - 1);
      CHECK(values(read.ids(order + "i" + kind)) == std::vector<std::int64_t>{-high - 1, 0, 1, high});
      CHECK(values(read.ids(order + "u" + kind)) == std::vector<std::int64_t>{0, 0, 1, width == 8 ? high : 2 * high + 1});
    }
  }
  CHECK(read.ids("bool") == Ids::rows({{1}, {0}}));
  CHECK((read.array("scalar").shape() == Shape{} && read.array("scalar").item() == 2.5));
  CHECK((read.array("empty").shape() == Shape{0, 3} && read.array("empty").dtype() == DType::float32));
  CHECK(read.ids("fortran") == Ids::arange(24).reshape({2, 3, 4}));
  CHECK(read.array("fortran_big").to_vector() == numbers);
  CHECK(read.ids("a/b") == Ids({2, 2, 2}, std::vector<std::int64_t>{1, 2, 9, 10, 13, 14, 21, 22}));
}

TEST_CASE("npy: numpy's files of versions 1, 2 and 3") {
  CHECK(io::read_npy(numpy_file("f4.npy")).array().to_vector() == numbers);
  CHECK(io::read_npy(numpy_file("f4.npy")).name() == numpy_file("f4.npy"));
  for (const char* name : {"version_2.npy", "version_3.npy"})
    CHECK(io::read_npy(numpy_file(name)).ids() == Ids::arange(24).reshape({2, 3, 4}));
}

TEST_CASE("npy: what is written is numpy's file, byte for byte") {
  const TemporaryFile file("ours.npy");
  for (const char* name : {"f4.npy", "f8.npy", "i8.npy"}) {
    const io::NamedTensor tensor = io::read_npy(numpy_file(name));
    if (tensor.is_ids())
      io::write_npy(file.path, tensor.ids());
    else
      io::write_npy(file.path, tensor.array());
    CHECK(read_bytes(file.path) == read_bytes(numpy_file(name)));
  }
}

TEST_CASE("npz: deflated members, numpy's and ours") {
  const io::NamedTensors read = io::read_npz(numpy_file("deflated.npz"));
  CHECK(read.ids("ids") == Ids::arange(100));
  CHECK(read.array("w").shape() == Shape{100, 3});
  CHECK(read.array("w").at({49, 1}) == -1.25);
  const TemporaryFile file("deflated.npz");
  Rng rng(1);
  const std::vector<io::NamedTensor> large{{"zeros", Array::zeros({300, 300})}, {"noise", normal({300, 300}, 0, 1, rng)}};
  io::write_npz(file.path, large, {.compressed = true});
  CHECK(std::filesystem::file_size(file.path) < 400'000);
  const io::NamedTensors again = io::read_npz(file.path);
  for (const io::NamedTensor& tensor : large) CHECK(same_bits(again.array(tensor.name()), tensor.array()));
}

TEST_CASE("npz: what is written is read again, and is what numpy was seen to read") {
  const TemporaryFile file("ours.npz");
  for (const bool compressed : {false, true}) {
    io::write_npz(file.path, ours(), {.compressed = compressed});
    for (const std::string& path : {file.path, numpy_file(compressed ? "ours_deflated.npz" : "ours.npz")}) {
      const io::NamedTensors read = io::read_npz(path);
      REQUIRE(read.tensors().size() == ours().size());
      for (const io::NamedTensor& tensor : ours()) {
        if (tensor.is_ids())
          CHECK(read.ids(tensor.name()) == tensor.ids());
        else
          CHECK(same_bits(read.array(tensor.name()), tensor.array()));
      }
    }
    if (!compressed) CHECK(read_bytes(file.path) == read_bytes(numpy_file("ours.npz")));  // deflate's bytes are its version's
  }
  io::write_npz(file.path, {});
  CHECK(io::read_npz(file.path).names().empty());
}

TEST_CASE("npz: what cannot be written, and what stands there stays") {
  const TemporaryFile file("kept.npz");
  const Array w = Array::ones({1});
  io::write_npz(file.path, {{"w", w}});
  CHECK(message<ValueError>([&] {
          io::write_npz(file.path, {{"v", w}, {"v", w}});
        }) == "write_npz: every name is given once; got \"v\" twice");
  CHECK(message<ValueError>([&] { io::write_npz(file.path, {{"v", Array()}}); }) == "write_npz: the array \"v\" holds nothing");
  CHECK(message<ValueError>([&] { io::write_npz(file.path, {{"", w}}); }) == "write_npz: a name must have 1 to 65531 bytes; got 0");
  CHECK(message<ValueError>([&] {
          io::write_npz(file.path, {{std::string(65532, 'n'), w}});
        }) == "write_npz: a name must have 1 to 65531 bytes; got 65532");
  CHECK_THAT(message<ValueError>([&] { io::write_npy(file.path, Array()); }), Contains("holds nothing"));
  CHECK_THAT(message<IoError>([&] { io::write_npy("/nowhere/at/all", w); }), Contains("write_npy: the folder must be writable"));
  CHECK(io::read_npz(file.path).names() == std::vector<std::string>{"w"});
  CHECK(message<IoError>([&] { io::read_npz(file.path).array("v"); }) ==
        "npz: there is no tensor \"v\" among the 1 of \"" + file.path + "\"");
}

TEST_CASE("npy: kinds that have no counterpart are errors that name them") {
  const std::string rule = "read_npy: the kind of numbers must be f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1; got ";
  for (const char* descr : {"<c8", "<c16", "<U5", "|S3", "|O", "<M8[ns]", "<m8", "<f16", "|V2", "f4", "", "!f4", "<i16"})
    CHECK(error_of_descr(std::string("'") + descr + "'") == rule + "\"" + descr + "\" in \"FILE\"");
  CHECK(error_of_descr("[('x', '<f4'), ('y', '<i4')]") == "read_npy: the array must hold plain numbers; got records in \"FILE\"");
  CHECK(error_of(npy("{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }",
                     std::string("\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16))) ==
        "read_npy: integers must fit in 63 bits; got 18446744073709551615 at position 1 in \"FILE\"");
  CHECK(error_of(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", "\x02")) ==
        "read_npy: a bool must be 0 or 1; got 2 in \"FILE\"");
}

TEST_CASE("npy: malformed headers name the rule") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  CHECK(error_of_header(good) == "no error");
  CHECK(error_of_header("{\"shape\": (2L, 1), 'fortran_order': True, 'descr': '<f4'}") == "no error");
  CHECK(error_of("") ==
        "read_npy: an array begins with \\x93NUMPY, its version and the length of a header; got something else in \"FILE\"");
  CHECK(error_of(npy(good, std::string(8, '\0'), 4)) == "read_npy: the version must be 1.0, 2.0 or 3.0; got 4.0 in \"FILE\"");
  CHECK(error_of(npy(good, "").substr(0, 30)) == "read_npy: the header must fit in the file; got 58 bytes in \"FILE\"");
  CHECK(error_of(npy(good, "", 2).substr(0, 11)) == "read_npy: the header must fit in the file; got 11 bytes in \"FILE\"");
  const std::string all_of_it = "read_npy: the numbers of shape [2] must be all that follows the header; got ";
  CHECK(error_of_header(good, 7) == all_of_it + "7 bytes in \"FILE\"");
  CHECK(error_of_header(good, 9) == all_of_it + "9 bytes in \"FILE\"");
  const auto shape = [](const std::string& sizes) {
    return error_of_header("{'descr': '<f4', 'fortran_order': False, 'shape': " + sizes + "}");
  };
  CHECK(shape("(4611686018427387904, 4)") ==
        "read_npy: the numbers of shape [4611686018427387904, 4] must be all that follows the header; got 8 bytes in \"FILE\"");
  CHECK(shape("(99999999999999999999,)") ==
        "read_npy: the sizes of a shape must be whole numbers from 0 in 63 bits; got another in \"FILE\"");
  CHECK(shape("(-1,)") == "read_npy: the sizes of a shape must be whole numbers from 0 in 63 bits; got another in \"FILE\"");
  CHECK(shape("(1,1,1,1,1,1,1,1,1)") == "read_npy: an array has at most 8 axes; got more in \"FILE\"");
  const std::string keys = "read_npy: the keys are descr, fortran_order and shape, each once; got ";
  CHECK(error_of_header("{'descr': '<f4', 'shape': (2,)}") == keys + "fewer in \"FILE\"");
  CHECK(error_of_header("{'descr': '<f4', 'descr': '<f4'}") == keys + "descr in \"FILE\"");
  CHECK(error_of_header("{'order': False}") == keys + "order in \"FILE\"");
  for (const char* broken : {"", "{", "[]", "{descr: 1}", "{'descr': 4}", "{'descr': '<f4}", "{'fortran_order': 1}", "{'shape': 2}",
                             "{'shape': (2 3)}", "{'shape': (x,)}", "{'shape': (2"})
    CHECK_THAT(error_of_header(broken), Contains("read_npy: the header must be a dictionary of numpy's; got a fault at byte"));
  CHECK_THAT(error_of_header(good + "x"), Contains("a dictionary of numpy's"));
  CHECK(message<IoError>([] { io::read_npy("/nowhere/at/all"); }) ==
        "read_npy: the file must be readable; got No such file or directory in \"/nowhere/at/all\"");
}

TEST_CASE("npz: archives that lie, with the member and the rule") {
  const TemporaryFile file("whole.npz");
  io::write_npz(file.path, {{"w", Array::of({2}, {1, 2})}});
  const std::string bytes = read_bytes(file.path);
  const auto changed = [&bytes](std::size_t at, const std::string& to) {
    return error_of(std::string(bytes).replace(at, to.size(), to), true);
  };
  const std::size_t directory = bytes.find("PK\x01\x02"), end64 = bytes.find("PK\x06\x06");
  const std::string wide(8, '\x7f');
  CHECK(error_of("", true) == "read_npz: a zip archive ends with its directory; got none in \"FILE\"");
  CHECK(changed(directory + 8, "\x01") == "read_npz: members must be readable; got an encrypted one in member \"w.npy\" of \"FILE\"");
  CHECK(changed(directory + 10, "\x0c") == "read_npz: members must be stored or deflated; got method 12 in member \"w.npy\" of \"FILE\"");
  CHECK_THAT(changed(directory + 16, "abcd"), Contains("read_npz: the checksum must be 64636261; got "));
  CHECK_THAT(changed(directory + 46 + 5 + 4, wide),
             Contains("read_npz: the size must be what 136 bytes can hold; got 9187201950435737471 bytes"));
  CHECK_THAT(changed(directory + 46 + 5 + 12, wide), Contains("read_npz: all members must fit in the "));
  CHECK_THAT(changed(directory + 46 + 5 + 20, wide), Contains("read_npz: a member must lie in the "));
  const std::string short_field = changed(directory + 46 + 5 + 2, std::string("\x08\0", 2));  // of three sizes over 32 bits there is one
  CHECK_THAT(short_field, Contains("a size over 32 bits must be in the member's own field; got none in member \"w.npy\""));
  CHECK_THAT(changed(directory + 46, "w.txt"), Contains("read_npz: members must be arrays, NAME.npy; got another in member \"w.txt\""));
  CHECK_THAT(changed(directory, "PK\x01\x03"), Contains("the directory must be a list of members; got something else"));
  CHECK_THAT(changed(directory + 28, "\xff\xff"), Contains("the directory must be a list of members; got a part of one"));
  CHECK_THAT(changed(0, "PK\x03\x05"), Contains("a member begins with a header of its own; got something else in member \"w.npy\""));
  CHECK_THAT(changed(26, "\xff\xff"), Contains("a member must lie in the "));
  CHECK_THAT(changed(end64 + 32, wide), Contains("the directory must list 9187201950435737471 members; got 1"));
  CHECK_THAT(changed(end64 + 40, wide), Contains("the directory must lie in the "));
  CHECK_THAT(changed(end64 + 48, wide), Contains("the directory must lie in the "));
  CHECK_THAT(changed(end64, "PK\x06\x08"), Contains("a directory over 32 bits has a second one; got none"));
  for (std::size_t n = 0; n < bytes.size(); ++n) CHECK(error_of(bytes.substr(0, n), true) != "no error");
  CHECK(error_of(bytes, true) == "no error");
  // A deflated member that says less, or more, than it holds.
  io::write_npz(file.path, {{"w", Array::zeros({100})}}, {.compressed = true});
  std::string packed = read_bytes(file.path);
  packed[packed.find("PK\x01\x02") + 46 + 5 + 4] ^= 1;
  CHECK_THAT(error_of(packed, true),
             Contains("read_npz: the member must inflate to 529 bytes; got others in member \"w.npy\" of \"FILE\""));
}

TEST_CASE("npz: any byte of an archive may be wrong, and nothing breaks") {
  const TemporaryFile file("bytes.npz");
  io::write_npz(file.path, {{"w", Array::of({2}, {1, 2})}, {"ids", Ids{3}}}, {.compressed = true});
  const std::string bytes = read_bytes(file.path);
  int read = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string wrong = bytes;
      wrong[i] = static_cast<char>(wrong[i] ^ flip);
      read += error_of(wrong, true) == "no error";
    }
  CHECK(read > 0);  // dates, versions and permissions do not matter
  CHECK(read < static_cast<int>(3 * bytes.size() / 2));
}
