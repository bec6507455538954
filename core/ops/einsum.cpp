#include <tapeform/core/ops/einsum.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <vector>

#include "detail/shape_rules.hpp"

namespace tapeform {
namespace {

// Axes are labelled by their letters, and those under "..." by digits, counted from the last: "0" is the innermost.
struct Term {
  Tensor x;
  std::string labels;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool has(std::string_view labels, char label) { return labels.find(label) != std::string_view::npos; }
std::string_view ellipsis_labels(int count) { return std::string_view("76543210").substr(static_cast<std::size_t>(8 - count)); }

class Einsum {
 public:
  Einsum(std::string_view equation, std::span<const Tensor> operands) : equation_(equation), operands_(operands) {
    parse();
    for (std::size_t i = 0; i < operands.size(); ++i) terms_.push_back(labelled(operands[i], inputs_[i]));
    name_result();
  }

  Tensor result() {
    for (Term& term : terms_) {
      without_spread(term);
      while (take_diagonal(term)) continue;
    }
    for (std::size_t i = 0; i < terms_.size(); ++i) sum_lone(terms_[i], needed_beside(i, i));
    Term all = std::move(terms_[0]);
    for (std::size_t i = 1; i < terms_.size(); ++i) all = product(all, terms_[i], needed_beside(0, i));
    return arranged(all, output_);
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const { throw ValueError(fmt::format("einsum: {}; got \"{}\"", rule, equation_)); }

  [[noreturn]] void fail_shapes(const std::string& rule) const {
    std::string shapes;
    for (const Tensor& x : operands_) shapes += ", " + x.shape().str();
    throw ShapeError(fmt::format("einsum: {}; got \"{}\"{}", rule, equation_, shapes));
  }

  // ---- reading the equation ----

  void parse() {
    std::string text;
    std::copy_if(equation_.begin(), equation_.end(), std::back_inserter(text), [](char c) { return c != ' '; });
    const std::size_t arrow = text.find("->");
    has_output_ = arrow != std::string::npos;
    if (has_output_) output_ = checked(text.substr(arrow + 2));
    std::string part;
    for (const char c : text.substr(0, arrow) + ",") {
      if (c != ',') {
        part += c;
        continue;
      }
      inputs_.push_back(checked(part));
      part.clear();
    }
    if (inputs_.size() != operands_.size())
      fail(fmt::format("one term for each operand; {} for {} operands", inputs_.size(), operands_.size()));
  }

  // Letters, and "..." once, which becomes one '.'.
  std::string checked(std::string part) const {
    if (const std::size_t dots = part.find("..."); dots != std::string::npos) part.replace(dots, 3, ".");
    if (std::count(part.begin(), part.end(), '.') > 1) fail("a term may hold \"...\" once");
    for (const char c : part)
      if (!is_letter(c) && c != '.') fail(fmt::format("axes are letters, \"...\", \",\" and \"->\", not '{}'", c));
    return part;
  }

  Term labelled(const Tensor& x, const std::string& term) {
    shapes::filled("einsum", "an operand", x);
    if (x.dtype() != operands_[0].dtype())
      throw DTypeError(fmt::format("einsum: dtypes must agree; got {} and {}. Use cast()", name(operands_[0].dtype()), name(x.dtype())));
    const std::size_t dots = term.find('.');
    const bool open = dots != std::string::npos;
    const int letters = static_cast<int>(term.size()) - (open ? 1 : 0), rest = x.rank() - letters;
    if (rest < 0 || (rest > 0 && !open)) fail_shapes(fmt::format("a term names {} axes of an operand with {}", letters, x.rank()));
    std::string labels = term;
    if (open) labels.replace(dots, 1, ellipsis_labels(rest));
    open_ = open_ || open;
    spread_ = std::max(spread_, rest);
    for (int axis = 0; axis < x.rank(); ++axis) note_size(labels[static_cast<std::size_t>(axis)], x.dim(axis));
    return {x, labels};
  }

  void note_size(char label, Dim size) {
    Dim& known = size_[static_cast<std::size_t>(label)];
    if (known < 0 || (!is_letter(label) && known == 1)) {
      known = size;
    } else if (known != size && (is_letter(label) || size != 1)) {
      fail_shapes(is_letter(label) ? fmt::format("'{}' stands for two sizes, {} and {}", label, known, size)
                                   : fmt::format("axes under \"...\" must be equal or 1, not {} and {}", known, size));
    }
  }

  void name_result() {
    std::string all;
    for (const Term& term : terms_) all += term.labels;
    if (!has_output_) {
      output_ = ellipsis_labels(spread_);
      std::sort(all.begin(), all.end());
      for (const char c : all)
        if (is_letter(c) && std::count(all.begin(), all.end(), c) == 1) output_ += c;
      return;
    }
    if (const std::size_t dots = output_.find('.'); dots != std::string::npos)
      output_.replace(dots, 1, ellipsis_labels(spread_));
    else if (open_)
      fail("operands have \"...\", so the result must have it");
    for (const char c : output_) {
      if (!has(all, c)) fail(fmt::format("the result names '{}', which no operand has", c));
      if (std::count(output_.begin(), output_.end(), c) > 1) fail(fmt::format("the result names '{}' twice", c));
    }
  }

  // ---- the composition ----

  Dim size(char label) const { return size_[static_cast<std::size_t>(label)]; }
  Dim count(std::string_view labels) const {
    Dim product = 1;
    for (const char c : labels) product *= size(c);
    return product;
  }

  // What the result and the operands beside [first, last] have.
  std::string needed_beside(std::size_t first, std::size_t last) const {
    std::string labels = output_;
    for (std::size_t i = 0; i < terms_.size(); ++i)
      if (i < first || i > last) labels += terms_[i].labels;
    return labels;
  }

  Tensor arranged(const Term& term, std::string_view order) const {
    if (order == term.labels) return term.x;
    std::vector<int> axes;
    for (const char c : order) axes.push_back(static_cast<int>(term.labels.find(c)));
    return permute(term.x, axes);
  }

  // Axes under "..." of size 1 that are larger elsewhere: the other operand alone has them.
  void without_spread(Term& term) const {
    Shape shape;
    std::string labels;
    for (int axis = 0; axis < term.x.rank(); ++axis) {
      const char label = term.labels[static_cast<std::size_t>(axis)];
      if (term.x.dim(axis) != size(label)) continue;
      shape.push_back(term.x.dim(axis));
      labels += label;
    }
    if (labels != term.labels) term = {reshape(term.x, shape), labels};
  }

  // A letter that stands twice: every (n + 1)-th of n·n numbers.
  bool take_diagonal(Term& term) const {
    for (const char c : term.labels) {
      const std::size_t a = term.labels.find(c), b = term.labels.find(c, a + 1);
      if (b == std::string::npos) continue;
      std::vector<int> axes;
      Shape shape;
      std::string labels;
      for (std::size_t i = 0; i < term.labels.size(); ++i) {
        if (i == a || i == b) continue;
        axes.push_back(static_cast<int>(i));
        shape.push_back(size(term.labels[i]));
        labels += term.labels[i];
      }
      axes.insert(axes.end(), {static_cast<int>(a), static_cast<int>(b)});
      shape.push_back(size(c) * size(c));  // [.., n·n]
      term = {slice(reshape(permute(term.x, axes), shape), -1, 0, shape[-1], size(c) + 1), labels + c};
      return true;
    }
    return false;
  }

  static void sum_lone(Term& term, std::string_view needed) {
    std::vector<int> axes;
    std::string labels;
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      if (has(needed, term.labels[i]))
        labels += term.labels[i];
      else
        axes.push_back(static_cast<int>(i));
    }
    if (!axes.empty()) term = {sum(term.x, axes), labels};
  }

  Term product(const Term& a, const Term& b, std::string_view needed) const {
    std::string batch, left, inner, right;
    for (const char c : a.labels) (!has(b.labels, c) ? left : has(needed, c) ? batch : inner) += c;
    for (const char c : b.labels)
      if (!has(a.labels, c)) right += c;
    const Dim B = count(batch), m = count(left), k = count(inner), n = count(right);
    const Tensor p = reshape(arranged(a, batch + left + inner), Shape{B, m, k}),
                 q = reshape(arranged(b, batch + inner + right), Shape{B, k, n});
    const std::string labels = batch + left + right;
    if (labels.size() > static_cast<std::size_t>(Shape::max_rank)) fail_shapes(fmt::format("at most {} axes on the way", Shape::max_rank));
    Shape shape;
    for (const char c : labels) shape.push_back(size(c));
    return {reshape(inner.empty() ? p * q : matmul(p, q), shape), labels};  // without a sum, k is 1
  }

  std::string_view equation_;
  std::span<const Tensor> operands_;
  std::vector<std::string> inputs_;
  std::string output_;
  bool has_output_ = false, open_ = false;
  int spread_ = 0;
  std::vector<Dim> size_ = std::vector<Dim>(128, -1);
  std::vector<Term> terms_;
};

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  if (operands.empty()) throw ValueError(fmt::format("einsum: at least one operand; got \"{}\" and none", equation));
  return Einsum(equation, operands).result();
}
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span<const Tensor>(operands.begin(), operands.size()));
}

}  // namespace tapeform
