#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>

#include "detail/half.hpp"
#include "detail/quoted.hpp"
#include "detail/replacement.hpp"
#include "detail/safetensors_header.hpp"

namespace tapeform::io {
namespace {

constexpr const char* metadata_key = "__metadata__";

/// How a tensor is stored, and its bytes.
struct Layout {
  Stored stored;
  std::uint64_t bytes;
};

Layout layout_of(const NamedTensor& tensor, Reals reals) {
  Stored stored = Stored::i64;
  if (!tensor.is_ids()) {
    stored = tensor.array().dtype() == DType::float32 ? Stored::f32 : Stored::f64;
    if (reals == Reals::float16) stored = Stored::f16;
    if (reals == Reals::bfloat16) stored = Stored::bf16;
  }
  return {stored, static_cast<std::uint64_t>(tensor.shape().numel()) * detail::bytes_of(stored)};
}

/// Rounds numbers to 16 bits, a part at a time.
template <class T>
void write_halves(detail::Replacement& file, std::span<const T> numbers, Stored stored) {
  std::array<std::uint16_t, 8192> part;
  while (!numbers.empty()) {
    const std::size_t n = std::min(part.size(), numbers.size());
    for (std::size_t i = 0; i < n; ++i)
      part[i] = stored == Stored::f16 ? tapeform::detail::to_float16(numbers[i]) : tapeform::detail::to_bfloat16(numbers[i]);
    file.write(std::as_bytes(std::span(part).first(n)));
    numbers = numbers.subspan(n);
  }
}

void write_numbers(detail::Replacement& file, const NamedTensor& tensor, Stored stored) {
  if (tensor.is_ids()) return file.write(std::as_bytes(tensor.ids().values()));
  dispatch(tensor.array().dtype(), [&]<class T>(T) {
    const std::span<const T> numbers = tensor.array().values<T>();
    if (stored == Stored::f16 || stored == Stored::bf16) return write_halves(file, numbers, stored);
    file.write(std::as_bytes(numbers));
  });
}

// {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}
std::string describe(const NamedTensor& tensor, const Layout& layout, std::uint64_t begin) {
  std::string sizes;
  for (const Dim n : tensor.shape().sizes()) sizes += (sizes.empty() ? "" : ",") + std::to_string(n);
  return fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name(layout.stored), sizes, begin, begin + layout.bytes);
}

// {"key":"text",…}, sorted
std::string describe(const Metadata& metadata) {
  std::string pairs;
  for (const auto& [key, text] : std::map<std::string, std::string>(metadata.begin(), metadata.end()))
    pairs += (pairs.empty() ? "" : ",") + detail::json_string(key) + ':' + detail::json_string(text);
  return '{' + pairs + '}';
}

void check(const char* op, const std::vector<NamedTensor>& tensors) {
  std::set<std::string> names;
  for (const NamedTensor& tensor : tensors) {
    const std::string& name = tensor.name();
    if (name == metadata_key) throw ValueError(fmt::format("{}: the name \"{}\" is the format's own", op, name));
    if (!names.insert(name).second) throw ValueError(fmt::format("{}: every name is given once; got \"{}\" twice", op, name));
    if (!tensor.is_ids() && !tensor.array()) throw ValueError(fmt::format("{}: the array \"{}\" holds nothing", op, name));
  }
}

/// The header's text, filled up with blanks so that the numbers start at a multiple of 8 bytes.
std::string header_of(const char* op, const std::vector<NamedTensor>& tensors, const Metadata& metadata, Reals reals) {
  std::string text;
  const auto append = [&text](const std::string& key, const std::string& value) {
    text += text.empty() ? '{' : ',';
    text += detail::json_string(key) + ':' + value;
  };
  try {
    if (!metadata.empty()) append(metadata_key, describe(metadata));
    std::uint64_t begin = 0;
    for (const NamedTensor& tensor : tensors) {
      const Layout layout = layout_of(tensor, reals);
      append(tensor.name(), describe(tensor, layout, begin));
      begin += layout.bytes;
    }
  } catch (const ValueError&) {
    throw ValueError(fmt::format("{}: names and metadata must be UTF-8", op));
  }
  text += text.empty() ? "{}" : "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

void detail::write_tensors(const char* op, const std::string& path, const std::vector<NamedTensor>& tensors, const Metadata& metadata,
                           const SafeTensorsOptions& options) {
  check(op, tensors);
  const std::string header = header_of(op, tensors, metadata, options.reals);
  const std::uint64_t header_bytes = header.size();
  Replacement file(op, path);
  file.write(std::as_bytes(std::span(&header_bytes, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedTensor& tensor : tensors) write_numbers(file, tensor, layout_of(tensor, options.reals).stored);
  file.put_in_place();
}

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors, const Metadata& metadata,
                       const SafeTensorsOptions& options) {
  detail::write_tensors("write_safetensors", path, tensors, metadata, options);
}

}  // namespace tapeform::io
