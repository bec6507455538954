#include "detail/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include "detail/half.hpp"

namespace tapeform::io::detail {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// What a header says.
struct Description {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

/// Reads the Python dictionary of a header: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
class Dictionary {
 public:
  Dictionary(const Where& where, std::string_view text) : where_(where), text_(text) {}

  Description read() {
    bool seen[3] = {};
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      const int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || std::exchange(seen[which], true)) fail("the keys are descr, fortran_order and shape, each once", key);
      if (which == 0) read_descr();
      if (which == 1) read_order();
      if (which == 2) read_shape();
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (at_ != text_.size()) unreadable();
    if (!seen[0] || !seen[1] || !seen[2]) fail("the keys are descr, fortran_order and shape, each once", "fewer");
    return description_;
  }

 private:
  [[noreturn]] void fail(const std::string& rule, const std::string& got) const { where_.fail(rule, got); }
  [[noreturn]] void unreadable() const { fail("the header must be a dictionary of numpy's", fmt::format("a fault at byte {} of it", at_)); }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) unreadable();
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') unreadable();
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) unreadable();
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inside);
  }

  void read_descr() {
    skip_blanks();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) fail("the array must hold plain numbers", "records");
    description_.descr = quoted();
  }

  void read_order() {
    if (take(std::string_view("True"))) {
      description_.fortran_order = true;
    } else if (!take(std::string_view("False"))) {
      unreadable();
    }
  }

  void read_shape() {
    expect('(');
    while (!take(')')) {
      skip_blanks();
      Dim size = 0;
      const auto [end, failure] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (failure == std::errc::result_out_of_range || size < 0)
        fail("the sizes of a shape must be whole numbers from 0 in 63 bits", "another");
      if (failure != std::errc()) unreadable();
      at_ = static_cast<std::size_t>(end - text_.data());
      take('L');  // Python 2's
      if (description_.shape.rank() == Shape::max_rank) fail(fmt::format("an array has at most {} axes", Shape::max_rank), "more");
      description_.shape.push_back(size);
      if (take(',')) continue;
      expect(')');
      break;
    }
  }

  const Where& where_;
  std::string_view text_;
  std::size_t at_ = 0;
  Description description_;
};

/// The numbers of a file in order, and where each belongs in an array of ours.
struct Numbers {
  Bytes bytes;
  bool swapped;  // big-endian
  bool fortran_order;
  Shape shape;

  template <class T>
  T number(std::size_t i) const {
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), bytes.data() + i * sizeof(T), sizeof(T));
    if (swapped) std::ranges::reverse(raw);
    return std::bit_cast<T>(raw);
  }

  /// Calls f(position, number) for each.
  template <class T, class F>
  void each(const F& f) const {
    const std::size_t n = bytes.size() / sizeof(T);
    if (!fortran_order || shape.rank() < 2) {
      for (std::size_t i = 0; i < n; ++i) f(i, number<T>(i));
      return;
    }
    std::array<Dim, Shape::max_rank> index{}, stride{};
    for (int axis = 0; axis < shape.rank(); ++axis) stride[static_cast<std::size_t>(axis)] = shape.numel(axis + 1, shape.rank());
    Dim position = 0;
    for (std::size_t i = 0; i < n; ++i) {
      f(static_cast<std::size_t>(position), number<T>(i));
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(shape.rank()); ++axis) {  // the first axis runs fastest
        position += stride[axis];
        if (++index[axis] < shape[static_cast<int>(axis)]) break;
        position -= stride[axis] * std::exchange(index[axis], 0);
      }
    }
  }
};

template <class T, class Stored, class Convert>
Array read_reals(const Numbers& numbers, const Convert& convert) {
  Array array(numbers.shape, dtype_of_v<T>);
  array.write<T>([&](std::span<T> to) { numbers.each<Stored>([&](std::size_t i, Stored x) { to[i] = convert(x); }); });
  return array;
}

template <class Stored>
Ids read_ids(const Where& where, const Numbers& numbers) {
  Ids ids = Ids::full(numbers.shape, 0);
  ids.write([&](std::span<std::int64_t> to) {
    numbers.each<Stored>([&](std::size_t i, Stored x) {
      if (!std::in_range<std::int64_t>(x)) where.fail("integers must fit in 63 bits", fmt::format("{} at position {}", x, i));
      to[i] = static_cast<std::int64_t>(x);
    });
  });
  return ids;
}

Ids read_bools(const Where& where, const Numbers& numbers) {
  Ids ids = read_ids<std::uint8_t>(where, numbers);
  for (const std::int64_t truth : ids.values())
    if (truth > 1) where.fail("a bool must be 0 or 1", std::to_string(truth));
  return ids;
}

/// The bytes of an array's numbers. @throws IoError unless the file has exactly those.
void check_size(const Where& where, const Shape& shape, std::uint64_t width, std::uint64_t there) {
  std::uint64_t bytes = width;
  bool overflow = false;
  for (const Dim size : shape.sizes()) overflow = overflow || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  const bool none = std::ranges::find(shape.sizes(), 0) != shape.sizes().end();
  if (none) bytes = 0;
  if ((overflow && !none) || bytes != there)
    where.fail(fmt::format("the numbers of shape {} must be all that follows the header", shape.str()), fmt::format("{} bytes", there));
}

}  // namespace

NamedTensor parse_npy(const Where& where, const std::string& name, Bytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < 10 || !text.starts_with(magic))
    where.fail("an array begins with \\x93NUMPY, its version and the length of a header", "something else");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3 || text[7] != 0)
    where.fail("the version must be 1.0, 2.0 or 3.0", fmt::format("{}.{}", version, static_cast<unsigned char>(text[7])));
  const std::size_t begin = version == 1 ? 10 : 12;
  if (text.size() < begin) where.fail("the header must fit in the file", fmt::format("{} bytes", text.size()));
  std::size_t length = 0;
  for (std::size_t i = 8; i < begin; ++i) length |= std::size_t{static_cast<unsigned char>(text[i])} << (8 * (i - 8));
  if (length > text.size() - begin) where.fail("the header must fit in the file", fmt::format("{} bytes", length));
  const Description description = Dictionary(where, text.substr(begin, length)).read();
  const std::string& descr = description.descr;
  const std::string kind = descr.size() < 2 ? "" : descr.substr(1);
  const bool order_known = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const auto numbers = [&](std::uint64_t width) {
    check_size(where, description.shape, width, file.size() - begin - length);
    return Numbers{file.subspan(begin + length), descr[0] == '>', description.fortran_order, description.shape};
  };
  const auto same = [](auto x) { return x; };
  if (order_known) {
    if (kind == "f4") return {name, read_reals<float, float>(numbers(4), same)};
    if (kind == "f8") return {name, read_reals<double, double>(numbers(8), same)};
    if (kind == "f2") return {name, read_reals<float, std::uint16_t>(numbers(2), tapeform::detail::from_float16)};
    if (kind == "i8") return {name, read_ids<std::int64_t>(where, numbers(8))};
    if (kind == "i4") return {name, read_ids<std::int32_t>(where, numbers(4))};
    if (kind == "i2") return {name, read_ids<std::int16_t>(where, numbers(2))};
    if (kind == "i1") return {name, read_ids<std::int8_t>(where, numbers(1))};
    if (kind == "u8") return {name, read_ids<std::uint64_t>(where, numbers(8))};
    if (kind == "u4") return {name, read_ids<std::uint32_t>(where, numbers(4))};
    if (kind == "u2") return {name, read_ids<std::uint16_t>(where, numbers(2))};
    if (kind == "u1") return {name, read_ids<std::uint8_t>(where, numbers(1))};
    if (kind == "b1") return {name, read_bools(where, numbers(1))};
  }
  where.fail("the kind of numbers must be f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1", fmt::format("\"{}\"", descr.substr(0, 40)));
}

std::string npy_header(const NamedTensor& tensor) {
  const Shape& shape = tensor.shape();
  std::string sizes;
  for (int axis = 0; axis < shape.rank(); ++axis) sizes += fmt::format("{}{}", axis > 0 ? ", " : "", shape[axis]);
  const char* const descr = tensor.is_ids() ? "<i8" : tensor.array().dtype() == DType::float32 ? "<f4" : "<f8";
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr, sizes, shape.rank() == 1 ? "," : "");
  // numpy leaves room for the first size to grow to 21 digits, and begins the numbers at a multiple of 64 bytes.
  if (shape.rank() > 0) text.append(21 - std::to_string(shape[0]).size(), ' ');
  text.append(64 - (10 + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += {'\x01', '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

Bytes number_bytes(const NamedTensor& tensor) {
  if (tensor.is_ids()) return std::as_bytes(tensor.ids().values());
  return dispatch(tensor.array().dtype(), [&tensor]<class T>(T) { return std::as_bytes(tensor.array().values<T>()); });
}

}  // namespace tapeform::io::detail
