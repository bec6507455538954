#include <fmt/format.h>
#include <algorithm>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/tensors.hpp>

namespace tapeform::io {

NamedTensors::NamedTensors(std::string format, std::string path, std::vector<NamedTensor> tensors, Metadata metadata)
    : format_(std::move(format)), path_(std::move(path)), tensors_(std::move(tensors)), metadata_(std::move(metadata)) {
  std::sort(tensors_.begin(), tensors_.end(), [](const NamedTensor& a, const NamedTensor& b) { return a.name() < b.name(); });
}

std::vector<std::string> NamedTensors::names() const {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : tensors_) names.push_back(tensor.name());
  return names;
}

const NamedTensor* NamedTensors::find(const std::string& name) const noexcept {
  const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const NamedTensor& tensor, const std::string& wanted) { return tensor.name() < wanted; });
  return at != tensors_.end() && at->name() == name ? &*at : nullptr;
}

const NamedTensor& NamedTensors::need(const std::string& name) const {
  const NamedTensor* const found = find(name);
  if (!found) throw IoError(fmt::format("{}: there is no tensor \"{}\" among the {} of \"{}\"", format_, name, tensors_.size(), path_));
  return *found;
}

const Array& NamedTensors::array(const std::string& name) const {
  const NamedTensor& tensor = need(name);
  if (tensor.is_ids()) throw IoError(fmt::format("{}: tensor \"{}\" of \"{}\" holds ids. Read it with ids()", format_, name, path_));
  return tensor.array();
}

const Ids& NamedTensors::ids(const std::string& name) const {
  const NamedTensor& tensor = need(name);
  if (!tensor.is_ids()) throw IoError(fmt::format("{}: tensor \"{}\" of \"{}\" holds reals. Read it with array()", format_, name, path_));
  return tensor.ids();
}

}  // namespace tapeform::io
