#pragma once
#include <string>
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>
#include <utility>
#include <vector>

/// Files in and out.
namespace tapeform::io {

/// One tensor of a file by its name: real numbers or ids.
class NamedTensor {
 public:
  NamedTensor(std::string name, Array array) : name_(std::move(name)), array_(std::move(array)) {}
  NamedTensor(std::string name, Ids ids) : name_(std::move(name)), ids_(std::move(ids)), is_ids_(true) {}

  const std::string& name() const noexcept { return name_; }
  bool is_ids() const noexcept { return is_ids_; }
  const Shape& shape() const noexcept { return is_ids_ ? ids_.shape() : array_.shape(); }
  /// Holds nothing when the tensor is ids.
  const Array& array() const noexcept { return array_; }
  /// Empty when the tensor is an array.
  const Ids& ids() const noexcept { return ids_; }

 private:
  std::string name_;
  Array array_;
  Ids ids_;
  bool is_ids_ = false;
};

/// Free text that a file carries beside its tensors: pairs of key and value.
using Metadata = std::vector<std::pair<std::string, std::string>>;

/// The tensors of one file, held in memory.
class NamedTensors {
 public:
  /// `format` and `path` say in errors where they came from.
  NamedTensors(std::string format, std::string path, std::vector<NamedTensor> tensors, Metadata metadata = {});

  /// In the order of the alphabet.
  std::vector<std::string> names() const;
  bool contains(const std::string& name) const noexcept { return find(name) != nullptr; }
  /// Real numbers in the dtype of the file. @throws IoError when there is no such tensor, or it is ids.
  const Array& array(const std::string& name) const;
  /// Ids. @throws IoError when there is no such tensor, or it is real numbers.
  const Ids& ids(const std::string& name) const;
  const Metadata& metadata() const noexcept { return metadata_; }
  const std::vector<NamedTensor>& tensors() const noexcept { return tensors_; }

 private:
  const NamedTensor* find(const std::string& name) const noexcept;
  const NamedTensor& need(const std::string& name) const;

  std::string format_, path_;
  std::vector<NamedTensor> tensors_;  // sorted by name
  Metadata metadata_;
};

}  // namespace tapeform::io
