#include <sys/stat.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "core/files.hpp"

using namespace tapeform;
namespace fs = std::filesystem;

namespace {

const std::vector<io::NamedTensor> one{{"w", Array::of({2}, {1.0, 2.0})}};

}  // namespace

TEST_CASE("safetensors: a link is followed and stays, and so do a file's permissions") {
  const TemporaryFolder folder("places");
  const std::string target = folder / "model", link = folder / "link";
  std::ofstream(target) << "old";
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("model", link);
  io::write_safetensors(link, one);
  CHECK(fs::is_symlink(link));
  CHECK(io::read_safetensors(target).array("w").at({1}) == 2);
  CHECK(fs::status(target).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(folder.files() == 2);
}

TEST_CASE("safetensors: a pipe is written to, never replaced, and not waited for by a read") {
  const TemporaryFolder folder("places");
  const std::string pipe = folder / "pipe", plain = folder / "plain";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(message<IoError>([&] { io::read_safetensors(pipe); }), Contains("the file must be readable"));
  std::string received;
  std::thread reader([&] {
    std::ifstream in(pipe, std::ios::binary);
    received.assign(std::istreambuf_iterator<char>(in), {});
  });
  io::write_safetensors(pipe, one);
  reader.join();
  io::write_safetensors(plain, one);
  CHECK(received == read_bytes(plain));
  CHECK(fs::is_fifo(pipe));
}

TEST_CASE("safetensors: a full device and a folder are errors that leave them as they were") {
  const TemporaryFolder folder("places");
  CHECK_THAT(message<IoError>([&] { io::write_safetensors(folder.path, one); }), Contains("Is a directory"));
  CHECK(folder.files() == 0);
  if (!fs::is_character_file("/dev/full")) return;
  fs::create_symlink("/dev/full", folder / "full");
  CHECK_THAT(message<IoError>([&] { io::write_safetensors(folder / "full", one); }), Contains("No space left on device"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("safetensors: threads that write one path leave one whole file") {
  const TemporaryFolder folder("places");
  const std::string path = folder / "model";
  std::vector<std::thread> writers;
  std::vector<std::string> errors(4);
  for (std::size_t i = 0; i < errors.size(); ++i)
    writers.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const std::string error = message<Error>([&] {
          io::write_safetensors(path, {{"w", Array::full({5000}, static_cast<double>(i))}});
        });
        if (error != "no error") errors[i] = error;
      }
    });
  for (std::thread& writer : writers) writer.join();
  for (const std::string& error : errors) CHECK(error.empty());
  const Array w = io::read_safetensors(path).array("w");
  CHECK(w.to_vector() == std::vector<double>(5000, w.at({0})));
  CHECK(folder.files() == 1);
}
