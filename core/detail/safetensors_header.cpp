#include "detail/safetensors_header.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tapeform/core/error.hpp>

#include "detail/quoted.hpp"

namespace tapeform::io {

const char* name(Stored stored) noexcept {
  switch (stored) {
    case Stored::f64:
      return "F64";
    case Stored::f32:
      return "F32";
    case Stored::f16:
      return "F16";
    case Stored::bf16:
      return "BF16";
    case Stored::i64:
      return "I64";
    case Stored::i32:
      return "I32";
    case Stored::u8:
      return "U8";
    case Stored::boolean:
      return "BOOL";
  }
  return "?";
}

namespace detail {
namespace {

using Json = nlohmann::json;

constexpr int max_header_depth = 3;  // {"name": {"shape": []}}
constexpr const char* metadata_key = "__metadata__";

/// A JSON value as the header spells it, cut to what a message can carry.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

constexpr Stored all_stored[] = {Stored::f64, Stored::f32, Stored::f16, Stored::bf16,
                                 Stored::i64, Stored::i32, Stored::u8,  Stored::boolean};

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

Stored stored_of(const Where& where, const Json& dtype) {
  for (const Stored stored : all_stored)
    if (dtype == name(stored)) return stored;
  where.fail("dtype must be F64, F32, F16, BF16, I64, I32, U8 or BOOL", shown(dtype));
}

std::uint64_t whole_number(const Where& where, const Json& list, std::size_t i, const char* what) {
  if (!list[i].is_number_unsigned()) where.fail(fmt::format("{} must hold whole numbers from 0", what), shown(list));
  return list[i].get<std::uint64_t>();
}

/// Reads the shape; returns the bytes that it takes.
std::uint64_t read_shape(const Where& where, const Json& list, TensorInfo& place) {
  if (!list.is_array()) where.fail("shape must be a list", shown(list));
  if (list.size() > static_cast<std::size_t>(Shape::max_rank)) {
    where.fail(fmt::format("shape must have at most {} axes", Shape::max_rank), shown(list));
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = bytes_of(place.stored);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::uint64_t n = whole_number(where, list, i, "shape");
    if (n > most || (n != 0 && bytes > most / n)) where.fail("the bytes of a shape must fit in 63 bits", shown(list));
    bytes *= n;
    place.shape.push_back(static_cast<Dim>(n));
  }
  return bytes;
}

TensorInfo read_place(const Where& where, const Json& entry, std::uint64_t data_bytes) {
  if (!entry.is_object()) where.fail("a tensor is described by a JSON object", shown(entry));
  TensorInfo place;
  place.name = *where.name;
  place.stored = stored_of(where, field(where, entry, "dtype"));
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
void check_cover(const Where& where, std::vector<TensorInfo>& places, std::uint64_t data_bytes) {
  std::sort(places.begin(), places.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::uint64_t covered = 0;
  for (const TensorInfo& place : places) {
    if (place.begin != covered) {
      where.at(&place.name)
          .fail("tensors must follow each other without gap or overlap",
                fmt::format("data from byte {} where byte {} is next", place.begin, covered));
    }
    covered = place.end;
  }
  if (covered != data_bytes) where.fail(fmt::format("the tensors must cover the {} bytes of data", data_bytes), std::to_string(covered));
}

}  // namespace

std::string quoted(const std::string& name) { return shown(name); }

std::string json_string(const std::string& text) try { return Json(text).dump(); } catch (const Json::exception&) {
  throw ValueError("no UTF-8");
}

std::uint64_t bytes_of(Stored stored) noexcept {
  switch (stored) {
    case Stored::f64:
    case Stored::i64:
      return 8;
    case Stored::f32:
    case Stored::i32:
      return 4;
    case Stored::f16:
    case Stored::bf16:
      return 2;
    default:
      return 1;
  }
}

Header parse_header(const Where& where, const std::string& text, std::uint64_t data_bytes) {
  const Json json = parse_json(where, text);
  if (!json.is_object()) where.fail("the header must be a JSON object", shown(json));
  Header header;
  for (const auto& [key, entry] : json.items()) {
    if (key == metadata_key) {
      header.metadata = read_metadata(where, entry);
    } else {
      header.tensors.push_back(read_place(where.at(&key), entry, data_bytes));
    }
  }
  check_cover(where, header.tensors, data_bytes);
  return header;
}

}  // namespace detail
}  // namespace tapeform::io
