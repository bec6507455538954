#include <filesystem>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/npz.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <tapeform/core/profile.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "core/common.hpp"
#include "core/files.hpp"

/// Errors that are documented and seldom met.

using namespace tapeform;

TEST_CASE("an array cannot be made with the dtype of nothing") {
  CHECK(message<ValueError>([] { Array({2}, Array().dtype()); }) ==
        "array: a dtype is float32 or float64; got the dtype of an array that holds nothing");
}

TEST_CASE("a profile within another one of its thread is refused") {
  const Profile profile;
  CHECK(message<ValueError>([] { Profile(); }) == "Profile: another one is running on this thread. End its scope first");
}

TEST_CASE("npz: an archive that holds a name twice") {
  const TemporaryFile file("twice.npz");
  io::write_npz(file.path, {{"a", Array::ones({2})}, {"b", Array::ones({2})}});
  std::string bytes = read_bytes(file.path);
  for (std::size_t at; (at = bytes.find("b.npy")) != std::string::npos;) bytes[at] = 'a';
  write_bytes(file.path, bytes);
  CHECK(message<IoError>([&] { io::read_npz(file.path); }) ==
        "read_npz: the archive holds every name once; got two in member \"a.npy\" of \"" + file.path + "\"");
}

TEST_CASE("safetensors: a header that fits its file and is too long all the same") {
  const TemporaryFile file("long_header");
  const std::uint64_t header = 100'000'001;
  write_bytes(file.path, little_endian(header));
  std::filesystem::resize_file(file.path, 8 + header);  // a hole: nothing is written
  CHECK(message<IoError>([&] { io::SafeTensorsReader(file.path); }) ==
        "read_safetensors: a header has at most 100000000 bytes; got 100000001 in \"" + file.path + "\"");
}
