#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/safetensors.hpp>

namespace tapeform::io {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian, and their bytes are copied as they are");

using Json = nlohmann::json;

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t max_header_bytes = 100'000'000;  // the format's own limit
constexpr int max_header_depth = 3;                      // {"name": {"shape": []}}
constexpr const char* metadata_key = "__metadata__";

/// A JSON value as the header spells it, cut to what a message can carry.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

/// Where an error is: a file, and a tensor of its header once there is one.
struct Where {
  const std::string& path;
  const std::string* tensor = nullptr;

  [[noreturn]] void fail(const std::string& rule, const std::string& got) const {
    const std::string at = tensor ? fmt::format("tensor {} of ", shown(*tensor)) : std::string();
    throw IoError(fmt::format("read_safetensors: {}; got {} in {}\"{}\"", rule, got, at, path));
  }
};

enum class Kind { f32, f64, i64 };

struct Place {  // one tensor of the header, checked
  std::string name;
  Kind kind = Kind::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

struct Header {
  std::vector<Place> places;
  Metadata metadata;
};

/// Parses without going deeper than a header can be. A key given twice is an error: parsers differ in which one they take.
Json parse_json(const Where& where, const std::string& text) {
  using Event = Json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&where, &keys](int depth, Event event, Json& parsed) {
    if ((event == Event::object_start || event == Event::array_start) && depth >= max_header_depth) {
      where.fail(fmt::format("the header nests at most {} levels deep", max_header_depth), "more");
    }
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
      where.fail("the header gives every key once", fmt::format("{} twice", shown(parsed)));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    where.fail("the header must be JSON", fmt::format("a fault at byte {} of it", error.byte));
  } catch (const Json::exception&) {  // a number that no type holds
    where.fail("the header must be JSON", "a number out of range");
  }
}

const Json& field(const Where& where, const Json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end()) where.fail("a tensor has dtype, shape and data_offsets", fmt::format("no {}", name));
  return *found;
}

Kind kind_of(const Where& where, const Json& dtype) {
  if (dtype == "F32") return Kind::f32;
  if (dtype == "F64") return Kind::f64;
  if (dtype == "I64") return Kind::i64;
  where.fail("dtype must be \"F32\", \"F64\" or \"I64\"", shown(dtype));
}

std::uint64_t whole_number(const Where& where, const Json& list, std::size_t i, const char* what) {
  if (!list[i].is_number_unsigned()) where.fail(fmt::format("{} must hold whole numbers from 0", what), shown(list));
  return list[i].get<std::uint64_t>();
}

/// Reads the shape; returns the bytes that it takes.
std::uint64_t read_shape(const Where& where, const Json& list, Place& place) {
  if (!list.is_array()) where.fail("shape must be a list", shown(list));
  if (list.size() > static_cast<std::size_t>(Shape::max_rank)) {
    where.fail(fmt::format("shape must have at most {} axes", Shape::max_rank), shown(list));
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = place.kind == Kind::f32 ? 4 : 8;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::uint64_t n = whole_number(where, list, i, "shape");
    if (n > most || (n != 0 && bytes > most / n)) where.fail("the bytes of a shape must fit in 63 bits", shown(list));
    bytes *= n;
    place.shape.push_back(static_cast<Dim>(n));
  }
  return bytes;
}

Place read_place(const Where& where, const Json& entry, std::uint64_t data_bytes) {
  if (!entry.is_object()) where.fail("a tensor is described by a JSON object", shown(entry));
  Place place;
  place.name = *where.tensor;
  place.kind = kind_of(where, field(where, entry, "dtype"));
  const Json& shape = field(where, entry, "shape");
  const std::uint64_t bytes = read_shape(where, shape, place);
  const Json& offsets = field(where, entry, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) where.fail("data_offsets must be [begin, end]", shown(offsets));
  place.begin = whole_number(where, offsets, 0, "data_offsets");
  place.end = whole_number(where, offsets, 1, "data_offsets");
  if (place.begin > place.end || place.end > data_bytes) {
    where.fail(fmt::format("data_offsets must lie in order within the {} bytes of data", data_bytes), shown(offsets));
  }
  if (place.end - place.begin != bytes) {
    where.fail(fmt::format("data_offsets must span the {} bytes of shape {} in {}", bytes, shown(shape), shown(entry["dtype"])),
               shown(offsets));
  }
  return place;
}

Metadata read_metadata(const Where& where, const Json& object) {
  if (!object.is_object()) where.fail("__metadata__ must be an object of strings", shown(object));
  Metadata metadata;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) where.fail("__metadata__ must be an object of strings", shown(object));
    metadata.emplace_back(key, value.get<std::string>());
  }
  return metadata;
}

/// The tensors must cover the data: bytes between them, or shared by two, would be a way to hide or alias numbers.
void check_cover(const Where& where, std::vector<Place>& places, std::uint64_t data_bytes) {
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t covered = 0;
  for (const Place& place : places) {
    if (place.begin != covered) {
      Where{where.path, &place.name}.fail("tensors must follow each other without gap or overlap",
                                          fmt::format("data from byte {} where byte {} is next", place.begin, covered));
    }
    covered = place.end;
  }
  if (covered != data_bytes) where.fail(fmt::format("the tensors must cover the {} bytes of data", data_bytes), std::to_string(covered));
}

Header parse_header(const Where& where, const std::string& text, std::uint64_t data_bytes) {
  const Json json = parse_json(where, text);
  if (!json.is_object()) where.fail("the header must be a JSON object", shown(json));
  Header header;
  for (const auto& [key, entry] : json.items()) {
    if (key == metadata_key) {
      header.metadata = read_metadata(where, entry);
    } else {
      header.places.push_back(read_place(Where{where.path, &key}, entry, data_bytes));
    }
  }
  check_cover(where, header.places, data_bytes);
  return header;
}

template <class T>
void read_into(std::ifstream& file, std::span<T> numbers) {
  file.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(numbers.size_bytes()));
}

NamedTensor read_tensor(std::ifstream& file, const Place& place) {
  if (place.kind == Kind::i64) {
    Ids ids = Ids::full(place.shape, 0);
    ids.write([&file](std::span<std::int64_t> numbers) { read_into(file, numbers); });
    return NamedTensor(place.name, std::move(ids));
  }
  Array array(place.shape, place.kind == Kind::f32 ? DType::float32 : DType::float64);
  dispatch(array.dtype(), [&file, &array]<class T>(T) { array.write<T>([&file](std::span<T> numbers) { read_into(file, numbers); }); });
  return NamedTensor(place.name, std::move(array));
}

}  // namespace

SafeTensors read_safetensors(const std::string& path) {
  const Where where{path};
  std::error_code failure;
  const std::uint64_t size = std::filesystem::file_size(path, failure);
  if (failure) where.fail("the file must be readable", failure.message());  // not opened: a pipe would wait for somebody to write
  std::ifstream file(path, std::ios::binary);
  if (!file) where.fail("the file must be readable", std::strerror(errno));
  std::uint64_t header_bytes = 0;
  if (size < length_bytes) where.fail("a file starts with 8 bytes of header length", fmt::format("{} bytes", size));
  file.read(reinterpret_cast<char*>(&header_bytes), length_bytes);
  if (header_bytes > size - length_bytes) {
    where.fail(fmt::format("the header must fit in the {} bytes that follow its length", size - length_bytes),
               std::to_string(header_bytes));
  }
  if (header_bytes > max_header_bytes)
    where.fail(fmt::format("a header has at most {} bytes", max_header_bytes), std::to_string(header_bytes));
  std::string text(header_bytes, ' ');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  Header header = parse_header(where, text, size - length_bytes - header_bytes);
  std::vector<NamedTensor> tensors;
  tensors.reserve(header.places.size());
  for (const Place& place : header.places) tensors.push_back(read_tensor(file, place));  // in the order of the file
  if (!file) where.fail("the file must stay readable to its end", "a read that failed");
  return SafeTensors(path, std::move(tensors), std::move(header.metadata));
}

SafeTensors::SafeTensors(std::string path, std::vector<NamedTensor> tensors, Metadata metadata)
    : path_(std::move(path)), tensors_(std::move(tensors)), metadata_(std::move(metadata)) {
  std::sort(tensors_.begin(), tensors_.end(), [](const NamedTensor& a, const NamedTensor& b) { return a.name() < b.name(); });
}

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : tensors_) names.push_back(tensor.name());
  return names;
}

const NamedTensor* SafeTensors::find(const std::string& name) const noexcept {
  const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                   [](const NamedTensor& tensor, const std::string& wanted) { return tensor.name() < wanted; });
  return at != tensors_.end() && at->name() == name ? &*at : nullptr;
}

const NamedTensor& SafeTensors::need(const std::string& name) const {
  const NamedTensor* const found = find(name);
  if (!found) throw IoError(fmt::format("safetensors: there is no tensor \"{}\" among the {} of \"{}\"", name, tensors_.size(), path_));
  return *found;
}

const Array& SafeTensors::array(const std::string& name) const {
  const NamedTensor& tensor = need(name);
  if (tensor.is_ids()) throw IoError(fmt::format("safetensors: tensor \"{}\" of \"{}\" holds ids. Read it with ids()", name, path_));
  return tensor.array();
}

const Ids& SafeTensors::ids(const std::string& name) const {
  const NamedTensor& tensor = need(name);
  if (!tensor.is_ids()) throw IoError(fmt::format("safetensors: tensor \"{}\" of \"{}\" holds reals. Read it with array()", name, path_));
  return tensor.ids();
}

}  // namespace tapeform::io
