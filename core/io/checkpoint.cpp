#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <set>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/core/io/safetensors.hpp>

#include "detail/safetensors_header.hpp"

namespace tapeform::io {
namespace {

using Entry = tapeform::detail::StateEntry;
using Kind = tapeform::detail::StateKind;

constexpr const char* nothing = "nothing";  // the text of an array that holds nothing
constexpr std::size_t shown_names = 10;     // of each list in an error

template <class T>
T& as(const Entry& entry) {
  return *static_cast<T*>(entry.value);
}

void check_once(const char* op, const std::vector<Entry>& entries) {
  std::set<std::string> names;
  for (const Entry& entry : entries)
    if (!names.insert(entry.name).second) throw ValueError(fmt::format("{}: every name is given once; got \"{}\" twice", op, entry.name));
}

// --- numbers as tensors -----------------------------------------------------------------------------------------------

/// Calls f with the whole number at its own type.
template <class F>
auto with_whole(const Entry& entry, const F& f) {
  if (entry.is_bool) return f(as<bool>(entry));
  switch (entry.bytes) {
    case 1:
      return entry.is_signed ? f(as<std::int8_t>(entry)) : f(as<std::uint8_t>(entry));
    case 2:
      return entry.is_signed ? f(as<std::int16_t>(entry)) : f(as<std::uint16_t>(entry));
    case 4:
      return entry.is_signed ? f(as<std::int32_t>(entry)) : f(as<std::uint32_t>(entry));
    default:
      return entry.is_signed ? f(as<std::int64_t>(entry)) : f(as<std::uint64_t>(entry));
  }
}

Ids scalar(std::int64_t number) { return Ids::full({}, number); }

Ids rng_ids(const Rng& rng) {
  const Rng::State& state = rng.state();
  return Ids{static_cast<std::int64_t>(state.seed), static_cast<std::int64_t>(state.stream), static_cast<std::int64_t>(state.position)};
}

Array real_array(const Entry& entry) {
  return entry.bytes == 4 ? Array::of({}, std::span<const float>(&as<float>(entry), 1))
                          : Array::of({}, std::span<const double>(&as<double>(entry), 1));
}

void put(const Entry& entry, std::vector<NamedTensor>& tensors, Metadata& metadata) {
  const auto tensor = [&](auto numbers) { tensors.emplace_back(entry.name, std::move(numbers)); };
  switch (entry.kind) {
    case Kind::array:
      if (const Array& array = as<Array>(entry)) return tensor(array);
      metadata.emplace_back(entry.name, nothing);
      return;
    case Kind::parameter:
      return tensor(as<Parameter>(entry).value());
    case Kind::ids:
      return tensor(as<Ids>(entry));
    case Kind::rng:
      return tensor(rng_ids(as<Rng>(entry)));
    case Kind::text:
      metadata.emplace_back(entry.name, as<std::string>(entry));
      return;
    case Kind::whole:
      return tensor(scalar(with_whole(entry, [](auto number) { return static_cast<std::int64_t>(number); })));
    case Kind::real:
      return tensor(real_array(entry));
    case Kind::wholes:
      return tensor(Ids(std::span<const std::int64_t>(as<std::vector<std::int64_t>>(entry))));
    case Kind::reals: {
      const auto& numbers = as<std::vector<double>>(entry);
      return tensor(Array::of({static_cast<Dim>(numbers.size())}, std::span<const double>(numbers)));
    }
  }
}

// --- what fits --------------------------------------------------------------------------------------------------------

/// What the program holds, to compare with what a file says.
struct Wanted {
  bool is_ids = false;
  DType dtype = no_dtype;  // nothing: any
  bool any_shape = false;
  Shape shape = {};
};

Wanted wanted(const Entry& entry) {
  switch (entry.kind) {
    case Kind::array: {
      const Array& like = entry.like ? *entry.like : as<Array>(entry);
      return {.dtype = like.dtype(), .any_shape = !like, .shape = like.shape()};
    }
    case Kind::parameter:
      return {.dtype = as<Parameter>(entry).dtype(), .shape = as<Parameter>(entry).shape()};
    case Kind::ids:
      return {.is_ids = true, .any_shape = as<Ids>(entry).shape() == Shape{0}, .shape = as<Ids>(entry).shape()};
    case Kind::rng:
      return {.is_ids = true, .shape = {3}};
    case Kind::real:
      return {.dtype = entry.bytes == 4 ? DType::float32 : DType::float64};
    case Kind::wholes:
      return {.is_ids = true, .any_shape = true};
    case Kind::reals:
      return {.dtype = DType::float64, .any_shape = true};
    default:
      return {.is_ids = true};
  }
}

/// One list of an error, cut to what a message can carry.
class List {
 public:
  explicit List(const char* title) : title_(title) {}
  void add(const std::string& item) {
    if (count_++ < shown_names) text_ += (text_.empty() ? "" : ", ") + item;
  }
  std::string str() const {
    if (count_ == 0) return {};
    return fmt::format("; {}: {}{}", title_, text_, count_ > shown_names ? fmt::format(" and {} more", count_ - shown_names) : "");
  }
  std::size_t count() const noexcept { return count_; }

 private:
  const char* title_;
  std::string text_;
  std::size_t count_ = 0;
};

/// Levenshtein's distance: characters to put in, take out or change.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string with_nearest(const std::string& name, const std::set<std::string>& missing) {
  const std::string* nearest = nullptr;
  std::size_t best = std::max<std::size_t>(3, name.size() / 2) + 1;
  for (const std::string& other : missing) {
    const std::size_t d = distance(name, other);
    if (d < best) nearest = &other, best = d;
  }
  return nearest ? fmt::format("{} (nearest here: {})", name, *nearest) : name;
}

// --- loading ----------------------------------------------------------------------------------------------------------

/// Compares a file with what the program lists, then reads, then changes.
class Loading {
 public:
  Loading(const SafeTensorsReader& file, const std::vector<Entry>& entries, const LoadOptions& options)
      : file_(file), entries_(entries), options_(options), tensors_(entries.size()), texts_(entries.size()) {}

  void check(std::initializer_list<LoadedPart> parts);
  void read();
  void assign() noexcept;
  std::vector<std::string> missing() const { return {missing_.begin(), missing_.end()}; }

 private:
  const std::string* text(const std::string& name) const;
  bool check_text(std::size_t i);
  void check_tensor(const Entry& entry, const TensorInfo& tensor);
  void check_ties(const Entry& entry, const TensorInfo& tensor) const;
  void check_value(const Entry& entry, const NamedTensor& tensor) const;
  bool of_other_part(const std::string& name, std::initializer_list<LoadedPart> parts) const;

  const SafeTensorsReader& file_;
  const std::vector<Entry>& entries_;
  const LoadOptions& options_;
  std::vector<const TensorInfo*> tensors_;  // of each entry; null when the file has none
  std::vector<const std::string*> texts_;
  std::vector<NamedTensor> numbers_;  // of the entries that have a tensor, in order
  std::set<std::string> missing_;
  List shapes_{"another shape"}, dtypes_{"another dtype"};
};

const std::string* Loading::text(const std::string& name) const {
  const auto found = std::ranges::find_if(file_.metadata(), [&name](const auto& pair) { return pair.first == name; });
  return found == file_.metadata().end() ? nullptr : &found->second;
}

/// True when the entry is text, or an array that the file says holds nothing.
bool Loading::check_text(std::size_t i) {
  const Entry& entry = entries_[i];
  if (entry.kind != Kind::text && entry.kind != Kind::array) return false;
  texts_[i] = text(entry.name);
  if (entry.kind == Kind::text) {
    if (!texts_[i]) missing_.insert(entry.name);
    return true;
  }
  if (!texts_[i] || *texts_[i] != nothing || file_.contains(entry.name)) {
    texts_[i] = nullptr;
    return false;
  }
  if (const Array& array = as<Array>(entry); array && !entry.like)
    shapes_.add(fmt::format("{} nothing in the file, {} here", entry.name, array.shape().str()));
  return true;
}

void Loading::check_tensor(const Entry& entry, const TensorInfo& tensor) {
  const Wanted here = wanted(entry);
  const bool list = entry.kind == Kind::wholes || entry.kind == Kind::reals;
  if (list ? tensor.shape.rank() != 1 : !here.any_shape && tensor.shape != here.shape)
    shapes_.add(fmt::format("{} {} in the file, {} here", entry.name, tensor.shape.str(), list ? "one axis" : here.shape.str()));
  const bool any = !here.is_ids && here.dtype == no_dtype && !tensor.is_ids();
  if (!any && (tensor.is_ids() != here.is_ids || tensor.dtype() != here.dtype))
    dtypes_.add(fmt::format("{} {} in the file, {} here", entry.name, name(tensor.stored),
                            here.is_ids              ? "ids"
                            : here.dtype == no_dtype ? "real numbers"
                                                     : tapeform::name(here.dtype)));
}

bool Loading::of_other_part(const std::string& name, std::initializer_list<LoadedPart> parts) const {
  return options_.allow_other_parts && std::ranges::none_of(parts, [&name](const LoadedPart& part) {
           return part.name().empty() || name == part.name() || name.starts_with(part.name() + '.');
         });
}

void Loading::check(std::initializer_list<LoadedPart> parts) {
  std::set<std::string> known;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    known.insert(entry.name);
    known.insert(entry.aliases.begin(), entry.aliases.end());
    if (check_text(i)) continue;
    tensors_[i] = file_.find(entry.name);
    for (const std::string& alias : entry.aliases)
      if (!tensors_[i]) tensors_[i] = file_.find(alias);
    if (tensors_[i]) {
      check_tensor(entry, *tensors_[i]);
    } else {
      missing_.insert(entry.name);
    }
  }
  List missing("missing"), unexpected("unexpected");
  if (!options_.allow_missing)
    for (const std::string& name : missing_) missing.add(name);
  for (const TensorInfo& tensor : file_.tensors())
    if (!known.contains(tensor.name) && !of_other_part(tensor.name, parts)) {
      unexpected.add(unexpected.count() < shown_names ? with_nearest(tensor.name, missing_) : tensor.name);
    }
  const std::string faults = missing.str() + unexpected.str() + shapes_.str() + dtypes_.str();
  if (!faults.empty())
    throw IoError(
        fmt::format("load_checkpoint: names, shapes and dtypes must be those of the program; got \"{}\" with {}. Nothing was changed",
                    file_.path(), faults.substr(2)));
}

/// A tied parameter that the file holds under several names must be the same under each.
void Loading::check_ties(const Entry& entry, const TensorInfo& tensor) const {
  for (const std::string& alias : entry.aliases) {
    const TensorInfo* const other = file_.find(alias);
    if (!other || other == &tensor) continue;
    if (other->is_ids() || !same_bits(file_.read(*other).array(), numbers_.back().array()))
      throw IoError(
          fmt::format("load_checkpoint: tied names must hold the same numbers; got {} and {} that differ in \"{}\". Nothing was changed",
                      tensor.name, alias, file_.path()));
  }
}

void Loading::check_value(const Entry& entry, const NamedTensor& tensor) const {
  if (entry.kind != Kind::whole || entry.bytes == 8) return;
  const std::int64_t value = tensor.ids()[0];
  const bool fits = with_whole(entry, [value]<class N>(const N&) {
    return value >= static_cast<std::int64_t>(std::numeric_limits<N>::min()) &&
           value <= static_cast<std::int64_t>(std::numeric_limits<N>::max());
  });
  if (!fits)
    throw IoError(fmt::format("load_checkpoint: {} must fit {} bits here; got {} in \"{}\". Nothing was changed", entry.name,
                              entry.is_bool ? 1 : 8 * entry.bytes, value, file_.path()));
}

void Loading::read() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!tensors_[i]) continue;
    numbers_.push_back(file_.read(*tensors_[i]));
    check_ties(entries_[i], *tensors_[i]);
    check_value(entries_[i], numbers_.back());
  }
}

void give(const Entry& entry, const NamedTensor& tensor) {
  switch (entry.kind) {
    case Kind::array:
      as<Array>(entry) = tensor.array();
      break;
    case Kind::parameter:
      as<Parameter>(entry).assign(tensor.array());
      break;
    case Kind::ids:
      as<Ids>(entry) = tensor.ids();
      break;
    case Kind::rng: {
      const auto number = [&tensor](Dim i) { return static_cast<std::uint64_t>(tensor.ids()[i]); };
      as<Rng>(entry).set_state({.seed = number(0), .stream = number(1), .position = number(2)});
      break;
    }
    case Kind::whole:
      with_whole(entry, [&tensor]<class N>(N& number) { number = static_cast<N>(tensor.ids()[0]); });
      break;
    case Kind::real:
      if (entry.bytes == 4) {
        as<float>(entry) = tensor.array().values<float>()[0];
      } else {
        as<double>(entry) = tensor.array().values<double>()[0];
      }
      break;
    case Kind::wholes:
      as<std::vector<std::int64_t>>(entry).assign(tensor.ids().values().begin(), tensor.ids().values().end());
      break;
    case Kind::reals:
      as<std::vector<double>>(entry) = tensor.array().to_vector();
      break;
    case Kind::text:
      break;
  }
}

/// What could fail has been done; all that is left to run out is memory for a few bytes.
void Loading::assign() noexcept {
  std::size_t next = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (texts_[i] && entries_[i].kind == Kind::text) as<std::string>(entries_[i]) = *texts_[i];
    if (texts_[i] && entries_[i].kind == Kind::array) as<Array>(entries_[i]) = Array();
    if (tensors_[i]) give(entries_[i], numbers_[next++]);
  }
}

}  // namespace

void save_checkpoint(const std::string& path, std::initializer_list<SavedPart> parts, const SaveOptions& options) {
  StateFields fields;
  for (const SavedPart& part : parts) part.list(fields);
  check_once("save_checkpoint", fields.entries());
  std::vector<NamedTensor> tensors;
  Metadata metadata = options.metadata;
  for (const Entry& entry : fields.entries()) put(entry, tensors, metadata);
  std::set<std::string> keys;
  for (const auto& [key, value] : metadata)
    if (!keys.insert(key).second) throw ValueError(fmt::format("save_checkpoint: every name is given once; got \"{}\" twice", key));
  detail::write_tensors("save_checkpoint", path, tensors, metadata, {});
}

LoadReport load_checkpoint(const std::string& path, std::initializer_list<LoadedPart> parts, const LoadOptions& options) {
  StateFields fields;
  for (const LoadedPart& part : parts) part.list(fields);
  check_once("load_checkpoint", fields.entries());
  const SafeTensorsReader file(path);
  Loading loading(file, fields.entries(), options);
  loading.check(parts);
  loading.read();
  loading.assign();
  return {.missing = loading.missing(), .metadata = file.metadata()};
}

}  // namespace tapeform::io
