#include <fmt/format.h>
#include <set>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/npz.hpp>

#include "detail/npy.hpp"
#include "detail/zip.hpp"

namespace tapeform::io {
namespace {

using detail::Bytes;
using detail::Where;

constexpr std::string_view extension = ".npy";

void check_holds(const char* op, const NamedTensor& tensor) {
  if (!tensor.is_ids() && !tensor.array()) throw ValueError(fmt::format("{}: the array \"{}\" holds nothing", op, tensor.name()));
}

void write_one(const std::string& path, const NamedTensor& tensor) {
  check_holds("write_npy", tensor);
  const std::string header = detail::npy_header(tensor);
  detail::Replacement file("write_npy", path);
  file.write(std::as_bytes(std::span(header)));
  file.write(detail::number_bytes(tensor));
  file.put_in_place();
}

}  // namespace

NamedTensor read_npy(const std::string& path) {
  const Where where{"read_npy", path};
  const detail::PlainFile file(where);
  std::vector<std::byte> bytes(file.size());
  file.read(where, bytes.data(), bytes.size(), 0);
  return detail::parse_npy(where, path, bytes);
}

void write_npy(const std::string& path, const Array& array) { write_one(path, {path, array}); }
void write_npy(const std::string& path, const Ids& ids) { write_one(path, {path, ids}); }

NamedTensors read_npz(const std::string& path) {
  const Where where{"read_npz", path, "member"};
  const detail::ZipReader zip(where);
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  for (const auto& member : zip.members()) {
    const Where inside = where.at(&member.name);
    if (!member.name.ends_with(extension)) inside.fail("members must be arrays, NAME.npy", "another");
    const std::string name = member.name.substr(0, member.name.size() - extension.size());
    if (!names.insert(name).second) inside.fail("the archive holds every name once", "two");
    tensors.push_back(detail::parse_npy(inside, name, zip.read(member)));
  }
  return NamedTensors("npz", path, std::move(tensors));
}

void write_npz(const std::string& path, const std::vector<NamedTensor>& tensors, const NpzOptions& options) {
  std::set<std::string> names;
  constexpr std::size_t most = 0xFFFF - extension.size();
  for (const NamedTensor& tensor : tensors) {
    check_holds("write_npz", tensor);
    const std::string& name = tensor.name();
    if (name.empty() || name.size() > most)
      throw ValueError(fmt::format("write_npz: a name must have 1 to {} bytes; got {}", most, name.size()));
    if (!names.insert(name).second) throw ValueError(fmt::format("write_npz: every name is given once; got \"{}\" twice", name));
  }
  detail::Replacement file("write_npz", path);
  detail::ZipWriter zip(file, options.compressed);
  for (const NamedTensor& tensor : tensors) {
    const std::string header = detail::npy_header(tensor);
    zip.add(tensor.name() + std::string(extension), {std::as_bytes(std::span(header)), detail::number_bytes(tensor)});
  }
  zip.finish();
  file.put_in_place();
}

}  // namespace tapeform::io
