#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>

#include "detail/half.hpp"
#include "detail/safetensors_header.hpp"

namespace tapeform::io {
namespace {

using detail::Where;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian, and their bytes are copied as they are");

constexpr const char* op = "read_safetensors";
constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t max_header_bytes = 100'000'000;  // the format's own limit

struct Source {  // an open file
  Where where;
  int file;

  void read(void* to, std::uint64_t bytes, std::uint64_t from) const { detail::read_at(where, file, to, bytes, from); }
};

/// Reads numbers of one type into numbers of another, a part at a time.
template <class From, class To, class F>
void read_as(const Source& source, std::uint64_t from, std::span<To> to, const F& convert) {
  std::array<From, 8192> part;
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t n = std::min(part.size(), to.size() - done);
    source.read(part.data(), n * sizeof(From), from + done * sizeof(From));
    std::transform(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(n), to.begin() + static_cast<std::ptrdiff_t>(done), convert);
    done += n;
  }
}

Ids read_ids(const Source& source, const TensorInfo& tensor, std::uint64_t from) {
  Ids ids = Ids::full(tensor.shape, 0);
  ids.write([&](std::span<std::int64_t> to) {
    const auto same = [](auto number) { return static_cast<std::int64_t>(number); };
    if (tensor.stored == Stored::i64) return source.read(to.data(), to.size_bytes(), from);
    if (tensor.stored == Stored::i32) return read_as<std::int32_t>(source, from, to, same);
    read_as<std::uint8_t>(source, from, to, same);
    if (tensor.stored == Stored::u8) return;
    const auto wrong = std::find_if(to.begin(), to.end(), [](std::int64_t truth) { return truth > 1; });
    if (wrong != to.end()) source.where.fail("a BOOL must be 0 or 1", fmt::format("{} at position {}", *wrong, wrong - to.begin()));
  });
  return ids;
}

Array read_array(const Source& source, const TensorInfo& tensor, std::uint64_t from) {
  Array array(tensor.shape, tensor.dtype());
  dispatch(array.dtype(), [&]<class T>(T) {
    array.write<T>([&](std::span<T> to) {
      if (tensor.stored == Stored::f16) return read_as<std::uint16_t>(source, from, to, tapeform::detail::from_float16);
      if (tensor.stored == Stored::bf16) return read_as<std::uint16_t>(source, from, to, tapeform::detail::from_bfloat16);
      source.read(to.data(), to.size_bytes(), from);
    });
  });
  return array;
}

}  // namespace

SafeTensorsReader::SafeTensorsReader(const std::string& path) : path_(path) {
  const Where where{op, path_};
  detail::PlainFile file(where);
  if (file.size() < length_bytes) where.fail("a file starts with 8 bytes of header length", fmt::format("{} bytes", file.size()));
  std::uint64_t header_bytes = 0;
  file.read(where, &header_bytes, length_bytes, 0);
  const std::uint64_t rest = file.size() - length_bytes;
  if (header_bytes > rest)
    where.fail(fmt::format("the header must fit in the {} bytes that follow its length", rest), std::to_string(header_bytes));
  if (header_bytes > max_header_bytes)
    where.fail(fmt::format("a header has at most {} bytes", max_header_bytes), std::to_string(header_bytes));
  std::string text(header_bytes, ' ');
  file.read(where, text.data(), header_bytes, length_bytes);
  data_begin_ = length_bytes + header_bytes;
  detail::Header header = detail::parse_header(where, text, rest - header_bytes);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  file_ = file.release();
}

SafeTensorsReader::SafeTensorsReader(SafeTensorsReader&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      data_begin_(other.data_begin_),
      tensors_(std::move(other.tensors_)),
      metadata_(std::move(other.metadata_)) {}

SafeTensorsReader& SafeTensorsReader::operator=(SafeTensorsReader&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(data_begin_, other.data_begin_);
  std::swap(tensors_, other.tensors_);
  std::swap(metadata_, other.metadata_);
  return *this;
}

SafeTensorsReader::~SafeTensorsReader() {
  if (file_ >= 0) ::close(file_);
}

const TensorInfo* SafeTensorsReader::find(const std::string& name) const noexcept {
  const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const TensorInfo& tensor, const std::string& wanted) { return tensor.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

const TensorInfo& SafeTensorsReader::need(const std::string& name) const {
  const TensorInfo* const found = find(name);
  if (!found) throw IoError(fmt::format("safetensors: there is no tensor \"{}\" among the {} of \"{}\"", name, tensors_.size(), path_));
  return *found;
}

Array SafeTensorsReader::array(const std::string& name) const {
  const TensorInfo& tensor = need(name);
  if (tensor.is_ids()) throw IoError(fmt::format("safetensors: tensor \"{}\" of \"{}\" holds ids. Read it with ids()", name, path_));
  return read(tensor).array();
}

Ids SafeTensorsReader::ids(const std::string& name) const {
  const TensorInfo& tensor = need(name);
  if (!tensor.is_ids()) throw IoError(fmt::format("safetensors: tensor \"{}\" of \"{}\" holds reals. Read it with array()", name, path_));
  return read(tensor).ids();
}

NamedTensor SafeTensorsReader::read(const TensorInfo& tensor) const {
  const Source source{{.op = op, .path = path_, .name = &tensor.name}, file_};
  const std::uint64_t from = data_begin_ + tensor.begin;
  if (tensor.is_ids()) return NamedTensor(tensor.name, read_ids(source, tensor, from));
  return NamedTensor(tensor.name, read_array(source, tensor, from));
}

SafeTensors read_safetensors(const std::string& path) {
  const SafeTensorsReader reader(path);
  std::vector<const TensorInfo*> in_order;
  for (const TensorInfo& tensor : reader.tensors()) in_order.push_back(&tensor);
  std::sort(in_order.begin(), in_order.end(), [](const TensorInfo* a, const TensorInfo* b) { return a->begin < b->begin; });
  std::vector<NamedTensor> tensors;
  tensors.reserve(in_order.size());
  for (const TensorInfo* tensor : in_order) tensors.push_back(reader.read(*tensor));
  return SafeTensors("safetensors", path, std::move(tensors), reader.metadata());
}

}  // namespace tapeform::io
