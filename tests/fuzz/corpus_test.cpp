#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "catch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

TEST_CASE("fuzz: the hand-made safetensors files, whole, cut, and with each of their bytes changed") {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TAPEFORM_TESTS_DIR "/fuzz/safetensors")) files.push_back(entry.path());
  std::ranges::sort(files);
  REQUIRE(files.size() >= 20);
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto run = [](const std::string& input) {  // ends the program when a rule is broken
      return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    };
    INFO(file);
    CHECK(run(bytes) == 0);
    const std::size_t step = bytes.size() / 100 + 1;
    int failed = 0;
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      failed += run(bytes.substr(0, i));
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (i % 2 == 0 ? 1 : 0x80));
      failed += run(changed);
    }
    CHECK(failed == 0);
  }
}
