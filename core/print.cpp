#include <tapeform/core/print.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <tapeform/core/error.hpp>

namespace tapeform {

namespace {

void check(const PrintOptions& options) {
  if (options.precision < 0 || options.edge < 0 || options.width < 0)
    throw ValueError(fmt::format("to_string: precision, edge and width must not be negative; got {}, {}, {}", options.precision,
                                 options.edge, options.width));
}

/// Writes the brackets of a shape around what `cell` says of each position, leaving out the middle of long axes when there are many.
template <class Cell>
class Brackets {
 public:
  Brackets(const Shape& shape, const PrintOptions& options, const Cell& cell)
      : shape_(shape), options_(options), elided_(shape.numel() > options.threshold), cell_(cell) {}

  /// Calls f for the row-major position of every element that is written.
  template <class F>
  void positions(const F& f, int axis = 0, Dim first = 0) const {
    if (axis == shape_.rank()) return f(first);
    const Dim stride = shape_.numel(axis + 1, shape_.rank());
    each(
        axis, [&](Dim i) { positions(f, axis + 1, first + i * stride); }, [] {});
  }

  std::string str() {
    if (shape_.numel() == 0) return "[]";
    write(0, 0);
    return std::move(text_);
  }

 private:
  template <class F, class Gap>
  void each(int axis, const F& f, const Gap& gap) const {
    const Dim size = shape_[axis];
    if (!elided_ || size <= 2 * options_.edge + 1) {
      for (Dim i = 0; i < size; ++i) f(i);
      return;
    }
    for (Dim i = 0; i < options_.edge; ++i) f(i);
    gap();
    for (Dim i = size - options_.edge; i < size; ++i) f(i);
  }

  void write(int axis, Dim first) {
    if (axis == shape_.rank()) {
      put(cell_(first));
      return;
    }
    const Dim stride = shape_.numel(axis + 1, shape_.rank());
    const int below = shape_.rank() - axis - 1;
    bool begun = false;
    text_ += '[';
    ++column_;
    const auto separate = [&] {
      if (begun) {
        text_ += ',';
        ++column_;
        if (below > 0) break_line(below, axis + 1);
      }
      begun = true;
    };
    // An inner row begins its line with no space; between numbers `put` sets one, or breaks the line.
    each(
        axis,
        [&](Dim i) {
          separate();
          write(axis + 1, first + i * stride);
        },
        [&] {
          separate();
          put("...");
        });
    text_ += ']';
    ++column_;
  }

  void put(const std::string& word) {
    const bool first = text_.empty() || text_.back() == '[' || text_.back() == ' ' || text_.back() == '\n';
    if (!first) {
      if (column_ + 2 + static_cast<int>(word.size()) > options_.width && shape_.rank() > 0)
        break_line(1, shape_.rank());
      else {
        text_ += ' ';
        ++column_;
      }
    }
    text_ += word;
    column_ += static_cast<int>(word.size());
  }

  void break_line(int lines, int indent) {
    text_.append(static_cast<std::size_t>(lines), '\n');
    text_.append(static_cast<std::size_t>(indent), ' ');
    column_ = indent;
  }

  const Shape& shape_;
  const PrintOptions& options_;
  const bool elided_;
  const Cell& cell_;
  std::string text_;
  int column_ = 0;
};

/// How numbers of one array are written: with the digits that the longest of them needs, or with an exponent.
struct NumberFormat {
  bool exponent = false;
  int decimals = 0;
  std::size_t width = 0;

  std::string bare(double x) const {
    if (!std::isfinite(x)) return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
    if (exponent) return fmt::format("{:.{}e}", x, decimals);
    return decimals > 0 ? fmt::format("{:.{}f}", x, decimals) : fmt::format("{:.0f}.", x);
  }
  // Trailing zeros are blanks, so that the eye finds the digits: `1.  ` above `2.25`.
  std::string operator()(double x) const {
    std::string word = bare(x);
    if (std::isfinite(x) && !exponent)
      for (std::size_t end = word.size(); end > 0 && word[end - 1] == '0' && decimals > 0; --end) word[end - 1] = ' ';
    return fmt::format("{:>{}}", word, width);
  }
};

int digits_needed(double x, int most, bool exponent) {
  const std::string word = exponent ? fmt::format("{:.{}e}", x, most) : fmt::format("{:.{}f}", x, most);
  const std::size_t point = word.find('.');
  if (point == std::string::npos) return 0;
  std::size_t end = exponent ? word.find('e') : word.size();
  while (word[end - 1] == '0') --end;
  return static_cast<int>(end - point - 1);
}

NumberFormat format_for(const std::vector<double>& numbers, const PrintOptions& options) {
  NumberFormat format;
  double largest = 0, smallest = HUGE_VAL;
  for (const double x : numbers)
    if (std::isfinite(x) && x != 0) {
      largest = std::max(largest, std::abs(x));
      smallest = std::min(smallest, std::abs(x));
    }
  format.exponent = largest >= 1e8 || (largest > 0 && (smallest < 1e-4 || (smallest < 1 && largest / smallest > 1e6)));
  for (const double x : numbers)
    if (std::isfinite(x)) format.decimals = std::max(format.decimals, digits_needed(x, options.precision, format.exponent));
  for (const double x : numbers) format.width = std::max(format.width, format.bare(x).size());
  return format;
}

std::string brackets_of(const Array& x, const PrintOptions& options) {
  return dispatch(x.dtype(), [&]<class T>(T) {
    const T* const data = x.data<T>();
    NumberFormat format;
    const auto cell = [&](Dim position) { return format(static_cast<double>(data[position])); };
    Brackets brackets(x.shape(), options, cell);
    std::vector<double> written;
    if (x.numel() > 0) brackets.positions([&](Dim position) { written.push_back(static_cast<double>(data[position])); });
    format = format_for(written, options);
    return brackets.str();
  });
}

}  // namespace

std::string to_string(const Array& x, const PrintOptions& options) {
  check(options);
  if (!x) return "nothing";
  return fmt::format("{} {} {}", brackets_of(x, options), name(x.dtype()), x.shape().str());
}

std::string to_string(const Tensor& x, const PrintOptions& options) {
  return to_string(x.value(), options) + (x.recorded() ? ", recorded" : "");
}

std::string to_string(const Ids& ids, const PrintOptions& options) {
  check(options);
  const auto values = ids.values();
  std::size_t width = 0;
  const auto bare = [&](Dim position) { return std::to_string(values[static_cast<std::size_t>(position)]); };
  const auto cell = [&](Dim position) { return fmt::format("{:>{}}", bare(position), width); };
  Brackets brackets(ids.shape(), options, cell);
  if (ids.numel() > 0) brackets.positions([&](Dim position) { width = std::max(width, bare(position).size()); });
  return fmt::format("{} ids {}", brackets.str(), ids.shape().str());
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }
std::ostream& operator<<(std::ostream& out, const Array& x) { return out << to_string(x); }
std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }
std::ostream& operator<<(std::ostream& out, const Ids& ids) { return out << to_string(ids); }

}  // namespace tapeform
