#include <filesystem>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <vector>

#include "catch.hpp"
#include "core/files.hpp"

using namespace tapeform;
using io::NamedTensor;

namespace {

/// The message of the IoError that reading these bytes throws.
std::string error_of(const std::string& bytes) {
  const TemporaryFile file("malformed.safetensors");
  write_bytes(file.path, bytes);
  try {
    io::read_safetensors(file.path);
  } catch (const IoError& error) {
    std::string text = error.what();
    const auto at = text.find(file.path);
    return at == std::string::npos ? "names no file: " + text : text.replace(at, file.path.size(), "FILE");
  }
  return "no error";
}

std::string error_of_header(const std::string& header, std::size_t data_bytes = 0) {
  return error_of(little_endian(header.size()) + header + std::string(data_bytes, '\0'));
}

std::string error_of_shape(const std::string& shape) {
  return error_of_header(R"({"w":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[0,4]}})", 4);
}

std::string error_of_offsets(const std::string& offsets) {
  return error_of_header(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":)" + offsets + "}}", 4);
}

}  // namespace

TEST_CASE("safetensors: numbers, ids, empty tensors and metadata come back as they were written") {
  const TemporaryFile file("round_trip.safetensors");
  const Array f32 = Array::of({2, 3}, {1.5, -0.0, 3e-45, 1e38, -2.0, 0.1});
  const Array f64 = Array::of({}, {0.1}, DType::float64);
  const Ids ids = Ids::rows({{1, -2}, {INT64_MAX, INT64_MIN}});
  io::write_safetensors(file.path, {{"b/ö \"quoted\"", f32}, {"a", f64}, {"ids", ids}, {"none", Array::zeros({0, 3})}, {"no ids", Ids()}},
                        {{"source", "a test"}, {"empty", ""}});
  const io::SafeTensors read = io::read_safetensors(file.path);
  CHECK(read.names() == std::vector<std::string>{"a", "b/ö \"quoted\"", "ids", "no ids", "none"});
  CHECK(same_bits(read.array("b/ö \"quoted\""), f32));
  CHECK(same_bits(read.array("a"), f64));
  CHECK(read.ids("ids") == ids);
  CHECK(read.array("none").shape() == Shape{0, 3});
  CHECK(read.ids("no ids").numel() == 0);
  CHECK(read.metadata() == io::Metadata{{"empty", ""}, {"source", "a test"}});
  CHECK(read.contains("a"));
  CHECK_FALSE(read.contains("A"));
}

TEST_CASE("safetensors: the bytes of a file are those of the format") {
  const TemporaryFile file("bytes.safetensors");
  io::write_safetensors(file.path, {{"w", Array::of({1, 2}, {1.0, -2.0})}});
  const std::string header = R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  const std::string numbers("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);
  const std::string bytes = read_bytes(file.path);
  CHECK(bytes == little_endian(56) + header + std::string(56 - header.size(), ' ') + numbers);
}

TEST_CASE("safetensors: a file without tensors") {
  const TemporaryFile file("empty.safetensors");
  io::write_safetensors(file.path, {});
  CHECK(io::read_safetensors(file.path).names().empty());
}

TEST_CASE("safetensors: a tensor asked for wrongly") {
  const TemporaryFile file("wrong.safetensors");
  io::write_safetensors(file.path, {{"w", Array::zeros({1})}, {"ids", Ids{1}}});
  const io::SafeTensors read = io::read_safetensors(file.path);
  CHECK_THROWS_WITH(read.array("v"), "safetensors: there is no tensor \"v\" among the 2 of \"" + file.path + "\"");
  CHECK_THROWS_WITH(read.array("ids"), "safetensors: tensor \"ids\" of \"" + file.path + "\" holds ids. Read it with ids()");
  CHECK_THROWS_WITH(read.ids("w"), "safetensors: tensor \"w\" of \"" + file.path + "\" holds reals. Read it with array()");
}

TEST_CASE("safetensors: what cannot be written, and what stands there stays") {
  const TemporaryFile file("kept.safetensors");
  const Array w = Array::ones({1});
  io::write_safetensors(file.path, {{"w", w}});
  CHECK_THROWS_WITH(io::write_safetensors(file.path, {{"v", w}, {"v", w}}), "write_safetensors: every name is given once; got \"v\" twice");
  CHECK_THROWS_WITH(io::write_safetensors(file.path, {{"__metadata__", w}}),
                    "write_safetensors: the name \"__metadata__\" is the format's own");
  CHECK_THROWS_WITH(io::write_safetensors(file.path, {{"v", Array()}}), "write_safetensors: the array \"v\" holds nothing");
  CHECK_THROWS_WITH(io::write_safetensors(file.path, {{"\xff", w}}), "write_safetensors: names and metadata must be UTF-8");
  CHECK_THROWS_AS(io::write_safetensors("/nowhere/at/all", {{"w", w}}), IoError);
  CHECK(io::read_safetensors(file.path).names() == std::vector<std::string>{"w"});
}

TEST_CASE("safetensors: a write that fails leaves nothing beside its target") {
  const TemporaryFile folder("target_is_a_folder");
  std::filesystem::create_directories(folder.path + "/occupied/inside");
  CHECK_THROWS_WITH(io::write_safetensors(folder.path + "/occupied", {{"w", Array::ones({1})}}),
                    Contains("write_safetensors: the new file must take the old one's place"));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) left.push_back(entry.path().filename().string());
  CHECK(left == std::vector<std::string>{"occupied"});
}

TEST_CASE("safetensors: a file that is not there, and a folder") {
  CHECK_THROWS_WITH(io::read_safetensors("/nowhere/at/all"),
                    "read_safetensors: the file must be readable; got No such file or directory in \"/nowhere/at/all\"");
  CHECK_THROWS_AS(io::read_safetensors(std::filesystem::temp_directory_path().string()), IoError);
}

TEST_CASE("CK-03: shape says more than the bytes", "[case]") {
  CHECK(
      error_of_header(R"({"w":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", 4) ==
      "read_safetensors: data_offsets must span the 4000000 bytes of shape [1000,1000] in \"F32\"; got [0,4] in tensor \"w\" of \"FILE\"");
}

TEST_CASE("CK-04: shape says less than the bytes; header length wraps", "[case]") {
  CHECK(error_of_header(R"({"w":{"dtype":"F32","shape":[32,8],"data_offsets":[0,65536]}})", 65536) ==
        "read_safetensors: data_offsets must span the 1024 bytes of shape [32,8] in \"F32\"; got [0,65536] in tensor \"w\" of \"FILE\"");
  for (const std::uint64_t length : {UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 63, std::uint64_t{3}}) {
    CHECK(error_of(little_endian(length) + "{}") ==
          "read_safetensors: the header must fit in the 2 bytes that follow its length; got " + std::to_string(length) + " in \"FILE\"");
  }
  CHECK(error_of("1234567") == "read_safetensors: a file starts with 8 bytes of header length; got 7 bytes in \"FILE\"");
  CHECK(error_of("") == "read_safetensors: a file starts with 8 bytes of header length; got 0 bytes in \"FILE\"");
  CHECK(error_of(little_endian(0)).starts_with("read_safetensors: the header must be JSON"));
}

TEST_CASE("CK-06: shape product overflows", "[case]") {
  for (const char* shape : {"[4611686018427387904,4]", "[4294967296,4294967296]", "[9223372036854775808,0]", "[2305843009213693952]"}) {
    CHECK(error_of_shape(shape) ==
          std::string("read_safetensors: the bytes of a shape must fit in 63 bits; got ") + shape + " in tensor \"w\" of \"FILE\"");
  }
  for (const char* shape : {"[-1]", "[1.0]", "[\"1\"]", "[null]"}) {
    CHECK(error_of_shape(shape) ==
          std::string("read_safetensors: shape must hold whole numbers from 0; got ") + shape + " in tensor \"w\" of \"FILE\"");
  }
  CHECK(error_of_shape("[[1]]") == "read_safetensors: the header nests at most 3 levels deep; got more in \"FILE\"");
  CHECK(error_of_shape("[1e999]") == "read_safetensors: the header must be JSON; got a number out of range in \"FILE\"");
  CHECK(error_of_shape("4") == "read_safetensors: shape must be a list; got 4 in tensor \"w\" of \"FILE\"");
  CHECK(error_of_shape("[1,1,1,1,1,1,1,1,1]") ==
        "read_safetensors: shape must have at most 8 axes; got [1,1,1,1,1,1,1,1,1] in tensor \"w\" of \"FILE\"");
  CHECK(error_of_header(R"({"w":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4) ==
        "read_safetensors: dtype must be F64, F32, F16, BF16, I64, I32, U8 or BOOL; got \"F33\" in tensor \"w\" of \"FILE\"");
  CHECK(error_of_header(R"({"w":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4) ==
        "read_safetensors: dtype must be F64, F32, F16, BF16, I64, I32, U8 or BOOL; got 32 in tensor \"w\" of \"FILE\"");
  for (const std::string missing : {"dtype", "shape", "data_offsets"}) {
    std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    header.replace(header.find(missing), missing.size(), "other");
    CHECK(error_of_header(header, 4) ==
          "read_safetensors: a tensor has dtype, shape and data_offsets; got no " + missing + " in tensor \"w\" of \"FILE\"");
  }
  CHECK(error_of_header("[]") == "read_safetensors: the header must be a JSON object; got [] in \"FILE\"");
  CHECK(error_of_header("7") == "read_safetensors: the header must be a JSON object; got 7 in \"FILE\"");
  CHECK(error_of_header(R"({"w":[1]})") == "read_safetensors: a tensor is described by a JSON object; got [1] in tensor \"w\" of \"FILE\"");
  CHECK(error_of_header("{\"w\":") == "read_safetensors: the header must be JSON; got a fault at byte 6 of it in \"FILE\"");
  CHECK(error_of_header("{\"\xff\":1}").starts_with("read_safetensors: the header must be JSON"));
}

TEST_CASE("CK-07: offset list too short", "[case]") {
  for (const char* offsets : {"[]", "[0]", "[0,4,8]", "4"}) {
    CHECK(error_of_offsets(offsets) ==
          std::string("read_safetensors: data_offsets must be [begin, end]; got ") + offsets + " in tensor \"w\" of \"FILE\"");
  }
  for (const char* offsets : {"[4,0]", "[0,8]", "[5,9]", "[0,18446744073709551615]"}) {
    CHECK(error_of_offsets(offsets) == std::string("read_safetensors: data_offsets must lie in order within the 4 bytes of data; got ") +
                                           offsets + " in tensor \"w\" of \"FILE\"");
  }
  CHECK(error_of_offsets("[-4,0]") ==
        "read_safetensors: data_offsets must hold whole numbers from 0; got [-4,0] in tensor \"w\" of \"FILE\"");
  CHECK(error_of(little_endian(200'000'000) + "{}") ==
        "read_safetensors: the header must fit in the 2 bytes that follow its length; got 200000000 in \"FILE\"");
  const std::string deep = "read_safetensors: the header nests at most 3 levels deep; got more in \"FILE\"";
  CHECK(error_of_header(std::string(100'000, '[') + std::string(100'000, ']')) == deep);
  CHECK(error_of_header(std::string(100'000, '[')) == deep);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  CHECK(error_of_header(objects) == deep);
}

TEST_CASE("safetensors: tensors cover the data once, keys stand once") {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes) {
    const std::string start = R"({"dtype":"F32","shape":[1],"data_offsets":)";
    return error_of_header("{\"a\":" + start + a + "},\"b\":" + start + b + "}}", bytes);
  };
  CHECK(two("[0,4]", "[4,8]", 8) == "no error");
  CHECK(two("[4,8]", "[0,4]", 8) == "no error");
  CHECK(two("[0,4]", "[0,4]", 4) ==
        "read_safetensors: tensors must follow each other without gap or overlap; got data from byte 0 where byte 4 is next in tensor "
        "\"b\" of "
        "\"FILE\"");
  CHECK(two("[0,4]", "[8,12]", 12) ==
        "read_safetensors: tensors must follow each other without gap or overlap; got data from byte 8 where byte 4 is next in tensor "
        "\"b\" of "
        "\"FILE\"");
  CHECK(two("[0,4]", "[4,8]", 9) == "read_safetensors: the tensors must cover the 9 bytes of data; got 8 in \"FILE\"");
  const std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK(error_of_header("{" + w + "," + w + "}", 4) == "read_safetensors: the header gives every key once; got \"w\" twice in \"FILE\"");
  CHECK(error_of_header(R"({"__metadata__":{"a":1}})") ==
        "read_safetensors: __metadata__ must be an object of strings; got {\"a\":1} in \"FILE\"");
}

TEST_CASE("safetensors: every cut of a file is an error, never a wrong number") {
  const TemporaryFile whole("whole.safetensors");
  io::write_safetensors(whole.path, {{"w", Array::of({2}, {1.0, 2.0})}, {"ids", Ids{3}}}, {{"k", "v"}});
  const std::string bytes = read_bytes(whole.path);
  for (std::size_t n = 0; n < bytes.size(); ++n) CHECK(error_of(bytes.substr(0, n)) != "no error");
  CHECK(error_of(bytes) == "no error");
}
