// Any bytes, read as a safetensors file: an IoError that names the file, or tensors that a second reading finds again. Nothing else.
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>

using namespace tapeform;

namespace {

void must(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "fuzz safetensors: %s\n", rule);
  std::abort();
}

/// A file in memory, and a path to it.
struct MemoryFile {
  int file = ::memfd_create("tapeform_fuzz", MFD_CLOEXEC);
  std::string path = "/proc/self/fd/" + std::to_string(file);
  void fill(std::string_view bytes) const {
    must(file >= 0 && ::ftruncate(file, 0) == 0, "the system gives files in memory");
    must(::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<::ssize_t>(bytes.size()), "the bytes fit in memory");
  }
};

void read(std::string_view bytes) {
  static const MemoryFile file;
  file.fill(bytes);
  try {
    const io::SafeTensors all = io::read_safetensors(file.path);
    const io::SafeTensorsReader reader(file.path);
    must(reader.tensors().size() == all.tensors().size(), "both readers find the same tensors");
    std::uint64_t covered = 0;
    for (const io::TensorInfo& tensor : reader.tensors()) {
      const io::NamedTensor one = reader.read(tensor);
      must(one.shape() == tensor.shape, "a tensor has the shape that its header says");
      must(one.is_ids() ? one.ids() == all.ids(tensor.name) : same_bits(one.array(), all.array(tensor.name)),
           "both readers find the same numbers");
      covered += tensor.end - tensor.begin;
    }
    must(covered <= bytes.size(), "tensors lie in the file");
  } catch (const IoError& error) {
    const std::string_view text = error.what();
    must(text.starts_with("read_safetensors: ") && text.find(file.path) != std::string_view::npos,
         "an error names the reader and the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  // Few changes of a file leave the length of its header right: the same once more, with the length that its last brace gives.
  if (size < 8) return 0;
  const std::size_t brace = bytes.rfind('}');
  const std::uint64_t header = brace == std::string_view::npos || brace < 8 ? 0 : brace + 1 - 8;
  std::string repaired(bytes);
  for (std::size_t i = 0; i < 8; ++i) repaired[i] = static_cast<char>(header >> (8 * i));
  read(repaired);
  return 0;
}
