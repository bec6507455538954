#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>

namespace tapeform::io {
namespace {

using Json = nlohmann::ordered_json;  // keys as given
constexpr const char* metadata_key = "__metadata__";

using Bytes = std::span<const std::byte>;

/// A name beside `path` that nothing else in the process, or in another, writes to.
std::string name_beside(const std::string& path) {
  static std::atomic<std::uint64_t> number{0};
  return fmt::format("{}.{}.{}.part", path, ::getpid(), number.fetch_add(1));
}

/// A file that is written beside `path` (or what a link leads to) and takes its place at the end; gone again when anything fails before.
/// A device or a pipe has no place to take: it is written to.
class Replacement {
 public:
  explicit Replacement(const std::string& path) : path_(path), target_(path) {
    std::error_code not_there;
    if (const auto followed = std::filesystem::canonical(path, not_there); !not_there) target_ = followed.string();
    struct stat old = {};
    const bool exists = ::stat(target_.c_str(), &old) == 0;
    in_place_ = exists && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode);
    written_ = in_place_ ? target_ : name_beside(target_);
    file_ = ::open(written_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) fail(in_place_ ? "the file must be writable" : "the folder must be writable");
    if (exists && !in_place_) (void)::fchmod(file_, old.st_mode & 07777);  // who may read the old file may read the new one
  }
  ~Replacement() {
    if (file_ >= 0) ::close(file_);
    if (!in_place_) ::unlink(written_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(Bytes bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("every byte must be written");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void put_in_place() {
    if (::fsync(file_) != 0 && !in_place_) fail("every byte must reach the disk");
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0) fail("every byte must reach the disk");
    if (in_place_) return;
    if (std::rename(written_.c_str(), target_.c_str()) != 0) fail("the new file must take the old one's place");
    in_place_ = true;
    sync_folder();
  }

 private:
  /// The rename itself reaches the disk with the folder. Some file systems refuse this; the file is whole all the same.
  void sync_folder() const {
    const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
    const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return;
    ::fsync(directory);
    ::close(directory);
  }

  [[noreturn]] void fail(const char* rule) const {
    throw IoError(fmt::format("write_safetensors: {}; got \"{}\" for \"{}\"", rule, std::strerror(errno), path_));
  }

  std::string path_, target_, written_;
  int file_ = -1;
  bool in_place_ = false;
};

Bytes bytes_of(const NamedTensor& tensor) {
  if (tensor.is_ids()) return std::as_bytes(tensor.ids().values());
  return dispatch(tensor.array().dtype(), [&tensor]<class T>(T) { return std::as_bytes(tensor.array().values<T>()); });
}

Json describe(const NamedTensor& tensor, std::size_t begin) {
  const Shape& shape = tensor.is_ids() ? tensor.ids().shape() : tensor.array().shape();
  Json entry;
  entry["dtype"] = tensor.is_ids() ? "I64" : tensor.array().dtype() == DType::float32 ? "F32" : "F64";
  entry["shape"] = Json::array();
  for (const Dim n : shape.sizes()) entry["shape"].push_back(n);
  entry["data_offsets"] = {begin, begin + bytes_of(tensor).size()};
  return entry;
}

void check(const std::vector<NamedTensor>& tensors) {
  std::set<std::string> names;
  for (const NamedTensor& tensor : tensors) {
    const std::string& name = tensor.name();
    if (name == metadata_key) throw ValueError(fmt::format("write_safetensors: the name \"{}\" is the format's own", name));
    if (!names.insert(name).second) throw ValueError(fmt::format("write_safetensors: every name is given once; got \"{}\" twice", name));
    if (!tensor.is_ids() && !tensor.array()) throw ValueError(fmt::format("write_safetensors: the array \"{}\" holds nothing", name));
  }
}

/// The header's text, filled up with blanks so that the numbers start at a multiple of 8 bytes.
std::string header_of(const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  std::string text;  // one entry after the other: a JSON object of thousands of keys would be searched for each
  const auto append = [&text](const std::string& key, const Json& value) {
    text += text.empty() ? '{' : ',';
    text += Json(key).dump();
    text += ':';
    text += value.dump();
  };
  try {
    if (!metadata.empty()) append(metadata_key, Json(std::map<std::string, std::string>(metadata.begin(), metadata.end())));
    std::size_t begin = 0;
    for (const NamedTensor& tensor : tensors) {
      append(tensor.name(), describe(tensor, begin));
      begin += bytes_of(tensor).size();
    }
  } catch (const Json::exception&) {
    throw ValueError("write_safetensors: names and metadata must be UTF-8");
  }
  text += text.empty() ? "{}" : "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  check(tensors);
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t header_bytes = header.size();
  Replacement file(path);
  file.write(std::as_bytes(std::span(&header_bytes, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedTensor& tensor : tensors) file.write(bytes_of(tensor));
  file.put_in_place();
}

}  // namespace tapeform::io
