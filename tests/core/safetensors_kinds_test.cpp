#include <unistd.h>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "core/files.hpp"

using namespace tapeform;
using io::NamedTensor;
using io::Reals;
using io::SafeTensorsReader;

namespace {

template <class T>
std::string bytes_of(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

/// A file with one tensor "x" of one axis.
std::string one_tensor(const std::string& dtype, std::size_t n, const std::string& data) {
  const std::string header =
      R"({"x":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(n) + R"(],"data_offsets":[0,)" + std::to_string(data.size()) + "]}}";
  return little_endian(header.size()) + header + data;
}

/// The bytes behind the header of a file.
std::string data_of(const std::string& path) {
  const std::string bytes = read_bytes(path);
  std::uint64_t header = 0;
  for (std::size_t i = 0; i < 8; ++i) header |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return bytes.substr(8 + header);
}

std::vector<std::uint16_t> halves_of(const std::string& data) {
  std::vector<std::uint16_t> halves(data.size() / 2);
  for (std::size_t i = 0; i < halves.size(); ++i)
    halves[i] = static_cast<std::uint16_t>(static_cast<unsigned char>(data[2 * i]) | static_cast<unsigned char>(data[2 * i + 1]) << 8);
  return halves;
}

std::vector<std::uint16_t> written(const Array& numbers, Reals reals) {
  const TemporaryFile file("written_halves.safetensors");
  io::write_safetensors(file.path, {{"x", numbers}}, {}, {.reals = reals});
  return halves_of(data_of(file.path));
}

Array read_halves(const std::string& dtype, const std::vector<std::uint16_t>& codes) {
  const TemporaryFile file("halves.safetensors");
  write_bytes(file.path, one_tensor(dtype, codes.size(), bytes_of(codes)));
  return io::read_safetensors(file.path).array("x");
}

std::vector<std::uint16_t> all_codes() {
  std::vector<std::uint16_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  return codes;
}

/// The number that a float16 stands for, by the definition of the format.
double float16_number(std::uint16_t code) {
  const int exponent = code >> 10 & 31, fraction = code & 1023;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return code & 0x8000 ? -size : size;
}

}  // namespace

TEST_CASE("CK-08: fp16 subnormals halved on load", "[case]") {
  const Array some = read_halves("F16", {0x0001, 0x03FF, 0x0400, 0x7BFF, 0x8001, 0x8000, 0x7C00, 0x7E00});
  const std::vector<double> x = some.to_vector();
  CHECK(some.dtype() == DType::float32);
  CHECK(std::vector<double>(x.begin(), x.begin() + 5) == std::vector<double>{0x1p-24, 1023 * 0x1p-24, 0x1p-14, 65504, -0x1p-24});
  CHECK((x[5] == 0 && std::signbit(x[5])));
  CHECK(x[6] == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(x[7]));
  const std::vector<std::uint16_t> codes = all_codes();
  const std::vector<double> all = read_halves("F16", codes).to_vector();
  std::size_t wrong = 0;
  for (const std::uint16_t code : codes) {
    const bool special = (code >> 10 & 31) == 31;
    const bool right = special
                           ? ((code & 1023) != 0 ? std::isnan(all[code]) : std::isinf(all[code]) && std::signbit(all[code]) == code >> 15)
                           : all[code] == float16_number(code) && std::signbit(all[code]) == code >> 15;
    wrong += !right;
  }
  CHECK(wrong == 0);
}

TEST_CASE("CK-10: fp16 export flushes small weights", "[case]") {
  const std::vector<std::uint16_t> wanted{0x0001, 0x0000, 0x0002, 0x0200, 0x3C00, 0x3C02, 0x7BFF, 0x7C00};
  const double odd = 1 + 0x1p-11;
  for (const DType dtype : {DType::float32, DType::float64})
    CHECK(written(Array::of({8}, {6e-8, 0x1p-25, 3 * 0x1p-25, 0x1p-15, odd, 1 + 3 * 0x1p-11, 65519, 65520}, dtype), Reals::float16) ==
          wanted);
  // Rounded once: by way of float32 the first would be a tie and become 1.
  CHECK(written(Array::of({2}, {odd + 0x1p-40, -odd - 0x1p-40}, DType::float64), Reals::float16) ==
        std::vector<std::uint16_t>{0x3C01, 0xBC01});
  CHECK(written(Array::of({3}, {1e300, -1e300, 5e-324}, DType::float64), Reals::float16) == std::vector<std::uint16_t>{0x7C00, 0xFC00, 0});
  const std::vector<std::uint16_t> codes = all_codes();
  CHECK(written(read_halves("F16", codes), Reals::float16) == codes);  // NaN and their payloads too
}

TEST_CASE("safetensors: bfloat16 is the upper half of a float, rounded to even") {
  const std::vector<std::uint16_t> codes = all_codes();
  const Array all = read_halves("BF16", codes);
  CHECK(written(all, Reals::bfloat16) == codes);
  CHECK(all.at({0x3F80}) == 1);
  CHECK(all.at({0x0001}) == 0x1p-133);
  CHECK(all.at({0xC2F7}) == -123.5);
  const double ulp = 0x1p-7;
  CHECK(written(Array::of({6}, {1 + ulp / 2, 1 + 1.5 * ulp, 1 + 0.75 * ulp, 3.4e38, 0x1p-134, 0x1.8p-133}), Reals::bfloat16) ==
        std::vector<std::uint16_t>{0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x0000, 0x0002});
  CHECK(written(Array::of({2}, {1 + ulp / 2 + 0x1p-50, NAN}, DType::float64), Reals::bfloat16) ==
        std::vector<std::uint16_t>{0x3F81, 0x7FC0});
  const float low_nan = std::bit_cast<float>(0x7F80'0001u);  // a payload that 16 bits have no room for
  CHECK(written(Array::of({1}, std::span(&low_nan, 1)), Reals::bfloat16) == std::vector<std::uint16_t>{0x7FC0});
}

TEST_CASE("safetensors: whole numbers and truths are read as ids") {
  const TemporaryFile file("whole.safetensors");
  const auto read = [&file](const std::string& dtype, std::size_t n, const std::string& data) {
    write_bytes(file.path, one_tensor(dtype, n, data));
    return io::read_safetensors(file.path).ids("x");
  };
  CHECK(read("I32", 3, bytes_of<std::int32_t>({-1, INT32_MAX, INT32_MIN})) == Ids{-1, INT32_MAX, INT32_MIN});
  CHECK(read("U8", 3, std::string("\x00\x80\xFF", 3)) == Ids{0, 128, 255});
  CHECK(read("BOOL", 2, std::string("\x01\x00", 2)) == Ids{1, 0});
  CHECK_THROWS_WITH(read("BOOL", 3, std::string("\x01\x00\x02", 3)),
                    "read_safetensors: a BOOL must be 0 or 1; got 2 at position 2 in tensor \"x\" of \"" + file.path + "\"");
}

TEST_CASE("safetensors: in 16 bits on request, ids as they are, and more numbers than a part") {
  const TemporaryFile file("parts.safetensors");
  Array big = Array::zeros({100, 201});
  big.write<float>([](std::span<float> numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 2048) / 16;
  });
  io::write_safetensors(file.path, {{"big", big}, {"ids", Ids{7}}, {"none", Array::zeros({0})}}, {}, {.reals = Reals::float16});
  const SafeTensorsReader reader(file.path);
  CHECK(reader.find("big")->stored == io::Stored::f16);
  CHECK(same_bits(reader.array("big"), big));
  CHECK(reader.ids("ids") == Ids{7});
  CHECK(reader.array("none").shape() == Shape{0});
}

TEST_CASE("CK-13: non-contiguous tensor saved in storage order", "[case]") {
  // Arrays are contiguous: a transpose or a column slice is a new array, in its own order.
  const TemporaryFile file("transposed.safetensors");
  const Tensor x = Array::of({2, 3}, {1, 2, 3, 4, 5, 6});
  io::write_safetensors(file.path,
                        {{"t", transpose(x, 0, 1).value()}, {"column", slice(x, 1, 1, 2).value()}, {"row", x.value().rows(1, 2)}});
  const std::vector<float> wanted{1, 4, 2, 5, 3, 6, 2, 5, 4, 5, 6};
  CHECK(data_of(file.path) == bytes_of(wanted));
  CHECK(SafeTensorsReader(file.path).find("t")->shape == Shape{3, 2});
}

TEST_CASE("safetensors: a reader lists what a file holds and reads one tensor at a time") {
  const TemporaryFile file("lazy.safetensors");
  io::write_safetensors(file.path, {{"w", Array::of({1, 2}, {1, 2})}, {"a", Array::of({}, {0.5}, DType::float64)}, {"ids", Ids{3}}},
                        {{"step", "12"}});
  SafeTensorsReader reader(file.path);
  REQUIRE(reader.tensors().size() == 3);
  const auto& [a, ids, w] = std::tie(reader.tensors()[0], reader.tensors()[1], reader.tensors()[2]);
  CHECK((a.name == "a" && a.dtype() == DType::float64 && a.shape == Shape{} && !a.is_ids()));
  CHECK((ids.name == "ids" && ids.dtype() == no_dtype && ids.shape == Shape{1} && ids.is_ids()));
  CHECK((w.name == "w" && std::string(name(w.stored)) == "F32" && w.begin == 0 && w.end == 8));
  CHECK(reader.metadata() == io::Metadata{{"step", "12"}});
  CHECK(reader.contains("w"));
  CHECK(reader.find("v") == nullptr);
  // A new file under the same name is another file: the reader goes on with the one that it opened.
  io::write_safetensors(file.path, {{"w", Array::of({1, 2}, {8, 9})}});
  CHECK(reader.array("w").to_vector() == std::vector<double>{1, 2});
  SafeTensorsReader moved = std::move(reader);
  CHECK(moved.ids("ids") == Ids{3});
  CHECK_THROWS_WITH(moved.array("v"), "safetensors: there is no tensor \"v\" among the 3 of \"" + file.path + "\"");
  CHECK_THROWS_WITH(moved.array("ids"), "safetensors: tensor \"ids\" of \"" + file.path + "\" holds ids. Read it with ids()");
  CHECK_THROWS_WITH(moved.ids("w"), "safetensors: tensor \"w\" of \"" + file.path + "\" holds reals. Read it with array()");
  moved = SafeTensorsReader(file.path);
  CHECK(moved.array("w").to_vector() == std::vector<double>{8, 9});
}

TEST_CASE("safetensors: a file that shrinks after its header was read") {
  const TemporaryFile file("shrinks.safetensors");
  io::write_safetensors(file.path, {{"w", Array::ones({64})}});
  const SafeTensorsReader reader(file.path);
  std::filesystem::resize_file(file.path, std::filesystem::file_size(file.path) - 4);
  CHECK_THROWS_WITH(
      reader.array("w"),
      "read_safetensors: the file must stay readable to its end; got fewer bytes than before in tensor \"w\" of \"" + file.path + "\"");
}

TEST_CASE("safetensors: offsets over 4 GiB, of a file with a hole") {
  const TemporaryFile file("large.safetensors");
  const std::uint64_t hole = (std::uint64_t{5} << 30) + 3;
  const std::string header = R"({"hole":{"dtype":"U8","shape":[)" + std::to_string(hole) + R"(],"data_offsets":[0,)" +
                             std::to_string(hole) + R"(]},"w":{"dtype":"F32","shape":[2],"data_offsets":[)" + std::to_string(hole) + "," +
                             std::to_string(hole + 8) + "]}}";
  write_bytes(file.path, little_endian(header.size()) + header);
  std::error_code too_large;
  std::filesystem::resize_file(file.path, 8 + header.size() + hole, too_large);
  if (too_large) return;  // a file system that has no such files
  std::ofstream(file.path, std::ios::binary | std::ios::app) << bytes_of<float>({1.5f, -2});
  const SafeTensorsReader reader(file.path);
  CHECK(reader.find("w")->begin == hole);
  CHECK(reader.array("w").to_vector() == std::vector<double>{1.5, -2});
}
