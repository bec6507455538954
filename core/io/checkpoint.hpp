#pragma once
#include <initializer_list>
#include <string>
#include <tapeform/core/io/tensors.hpp>
#include <tapeform/core/state.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapeform::io {

/// A name in a checkpoint and what is saved under it: anything that StateFields takes.
class SavedPart {
 public:
  template <class T>
  SavedPart(std::string name, const T& value)
      : name_(std::move(name)), value_(&value), list_([](StateFields& fields, const std::string& part, const void* from) {
          fields(part, *const_cast<T*>(static_cast<const T*>(from)));  // listing changes nothing
        }) {}
  const std::string& name() const noexcept { return name_; }
  void list(StateFields& fields) const { list_(fields, name_, value_); }

 private:
  std::string name_;
  const void* value_;
  void (*list_)(StateFields&, const std::string&, const void*);
};

/// The same for loading.
class LoadedPart {
 public:
  template <class T>
  requires(!std::is_const_v<T>) LoadedPart(std::string name, T& value)
      : name_(std::move(name)),
        value_(&value),
        list_([](StateFields& fields, const std::string& part, void* to) { fields(part, *static_cast<T*>(to)); }) {}
  const std::string& name() const noexcept { return name_; }
  void list(StateFields& fields) const { list_(fields, name_, value_); }

 private:
  std::string name_;
  void* value_;
  void (*list_)(StateFields&, const std::string&, void*);
};

struct SaveOptions {
  Metadata metadata = {};  ///< text of your own beside what the parts list
};

/// Writes the state of all parts into one safetensors file, whole or not at all (see write_safetensors):
///
///     io::save_checkpoint("run.safetensors", {{"model", model}, {"adamw", adamw}, {"rng", rng}, {"update", update}});
///     io::load_checkpoint("run.safetensors", {{"model", model}, {"adamw", adamw}, {"rng", rng}, {"update", update}});
///
/// A part with an empty name adds no prefix: `{{"", model}}` is a file of weights as torch.nn names them.
/// @throws ValueError when two things have one name, or text is not UTF-8; IoError when writing fails. The old file stays.
void save_checkpoint(const std::string& path, std::initializer_list<SavedPart> parts, const SaveOptions& options = {});

/// A program whose loop is an object with `void state(StateFields&)` lists its parts there, once for both ways:
/// `io::save_checkpoint(path, training)`.
template <class T>
requires Stateful<T> || Visitable<T>
void save_checkpoint(const std::string& path, const T& object, const SaveOptions& options = {}) {
  save_checkpoint(path, {SavedPart("", object)}, options);
}

struct LoadOptions {
  bool allow_missing = false;      ///< what the file lacks stays as it is
  bool allow_other_parts = false;  ///< the file may hold parts that are not named here: `{{"model", model}}` of a whole run
};

struct LoadReport {
  std::vector<std::string> missing;  ///< names that the file lacks
  Metadata metadata;                 ///< all text of the file
};

/// Reads what `save_checkpoint` wrote, or any safetensors file with the right names, into the parts. Names, shapes and dtypes of the
/// whole file are checked and all numbers read before anything changes. Parameters change in place, so optimizers keep following them.
/// Float16 and bfloat16 are read as float32.
/// @throws IoError that lists every missing, unexpected and misshapen name, with nothing changed; ValueError as saving.
LoadReport load_checkpoint(const std::string& path, std::initializer_list<LoadedPart> parts, const LoadOptions& options = {});

template <class T>
requires(Stateful<T> || Visitable<T>) && (!std::is_const_v<T>)LoadReport
    load_checkpoint(const std::string& path, T& object, const LoadOptions& options = {}) {
  return load_checkpoint(path, {LoadedPart("", object)}, options);
}

}  // namespace tapeform::io
