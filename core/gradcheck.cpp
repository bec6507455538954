#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/index.hpp"

namespace tapeform {

namespace {

/// What differences in one dtype can tell.
struct Precision {
  double step_factor;
  std::vector<double> shrink;  // rounding grows as the step shrinks, so it shrinks only when it must
  double retry_above;          // errors that another difference may still mend
  double kink_above;           // how far the two sides of a kink are apart at least
  double zero_below;
};

const Precision double_precision{1.0, {1.0, 0x1p-3, 0x1p-6}, 5e-12, 1e-6, 0.0};
const Precision single_precision{64.0, {1.0, 0x1p-3}, 5e-4, 3e-2, 1e-5};

// A tensor under check: an input of the function, or a parameter that it uses.
struct Subject {
  std::string path;
  Array* value;
  Array gradient;  // from backward; holds nothing when it is all 0
};

// Parameters are changed while they are checked, and their gradients used: this puts both back, however the check ends.
class Restored {
 public:
  explicit Restored(const std::vector<NamedParameter>& parameters) {
    for (const NamedParameter& parameter : parameters) {
      kept_.push_back({parameter.ref, parameter.ref.value(), parameter.ref.grad()});
      parameter.ref.grad() = Array();
    }
  }
  ~Restored() {
    for (Kept& kept : kept_) {
      kept.ref.value() = std::move(kept.value);
      kept.ref.grad() = std::move(kept.grad);
    }
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  struct Kept {
    ParameterRef ref;
    Array value, grad;
  };
  std::vector<Kept> kept_;
};

/// A line through the point under check, along which one entry of a tensor moves, or all of them.
class Line {
 public:
  Line(Array& value, Dim entry) : value_(value), entry_(entry), x_(read(value, entry)) {}
  Line(Array& value, std::vector<double> direction) : value_(value), origin_(value.to_vector()), direction_(std::move(direction)) {}

  double size() const {
    double largest = std::abs(x_);
    for (const double x : origin_) largest = std::max(largest, std::abs(x));
    return largest;
  }
  void move(double by) {
    dispatch(value_.dtype(), [&]<class T>(T) {
      T* const numbers = value_.mutable_data<T>();
      if (origin_.empty()) numbers[entry_] = static_cast<T>(x_ + by);
      for (std::size_t i = 0; i < origin_.size(); ++i) numbers[i] = static_cast<T>(origin_[i] + by * direction_[i]);
    });
  }
  static double read(const Array& x, Dim entry) {
    return dispatch(x.dtype(), [&]<class T>(T) { return static_cast<double>(x.data<T>()[entry]); });
  }

 private:
  Array& value_;
  Dim entry_ = 0;
  double x_ = 0;
  std::vector<double> origin_, direction_;
};

/// A derivative as differences see it: the one nearest to what is expected, and the sides' when they disagree.
struct Found {
  double numeric = std::numeric_limits<double>::quiet_NaN();
  double left = 0, right = 0;
  bool kink = false;
};

class Checker {
 public:
  Checker(const detail::GradcheckCall& call, std::vector<NamedParameter> parameters, const std::vector<Array>& inputs,
          const GradcheckOptions& options)
      : call_(call), options_(options), inputs_(inputs), parameters_(std::move(parameters)), samples_(Rng(options.rng_seed).stream(2)) {
    std::erase_if(parameters_, [](const NamedParameter& parameter) { return !parameter.ref.trainable(); });
    for (std::size_t i = 0; i < inputs_.size(); ++i) add(fmt::format("input {}", i), inputs_[i]);
    for (const NamedParameter& parameter : parameters_) add(parameter.name, parameter.ref.value());
  }

  GradcheckReport run() {
    const Restored restored(parameters_);
    GradcheckReport report;
    report.single_precision = precision_ == &single_precision;
    differentiate(report);
    for (Subject& subject : subjects_)
      if (subject.value->numel() > 0) check(subject, report);
    return report;
  }

 private:
  void add(std::string path, Array& value) {
    if (!value) throw ValueError(fmt::format("gradcheck: every input must hold numbers; got {} without any", path));
    if (value.dtype() != DType::float64 && !options_.allow_float32)
      throw DTypeError(
          fmt::format("gradcheck: differences need float64; got {} {} {}. Use cast(DType::float64), or allow_float32 with a "
                      "tolerance near 1e-3",
                      path, value.shape().str(), name(value.dtype())));
    if (value.dtype() == DType::float32) precision_ = &single_precision;
    subjects_.push_back({std::move(path), &value, Array()});
  }

  std::vector<Tensor> watched(Tape& tape) const {
    std::vector<Tensor> x;
    for (const Array& input : inputs_) x.push_back(tape.watch(input));
    return x;
  }

  Array evaluate() const {
    Rng rng(options_.rng_seed);
    Tape tape(rng);  // as in `differentiate`: dropout is on, and ops take the way that training takes
    return call_.run(call_.context, watched(tape)).value();
  }

  void differentiate(GradcheckReport& report) {
    Rng rng(options_.rng_seed);
    Tape tape(rng);
    const std::vector<Tensor> x = watched(tape);
    const Tensor y = call_.run(call_.context, x);
    for (std::size_t node = 0; node < tape.nodes(); ++node) {
      const std::string op = tape.op(node);
      if (op != "watch" && op != "parameter" && std::ranges::find(report.ops, op) == report.ops.end()) report.ops.push_back(op);
    }
    Rng draws = Rng(options_.rng_seed).stream(1);
    weights_ = uniform(y.shape(), -1.0, 1.0, draws, DType::float64);
    weights_.write<double>([](std::span<double> w) {
      for (double& weight : w) weight += std::copysign(0.5, weight);
    });
    weights_ = weights_.cast(y.dtype());
    tape.backward(y, weights_);
    weights_ = weights_.cast(DType::float64);
    for (std::size_t i = 0; i < inputs_.size(); ++i) subjects_[i].gradient = tape.grad(x[i]);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      subjects_[inputs_.size() + i].gradient = std::exchange(parameters_[i].ref.grad(), Array());
    if (!same_bits(y.value(), evaluate()))
      throw ValueError(
          "gradcheck: the function gave two results for the same inputs. Draw randomness from the tape (dropout), keep no state");
  }

  Array at(Line& line, double by) const {
    line.move(by);
    return evaluate().cast(DType::float64);
  }

  // Σ weights·(derivative of y along the line), each element's differences taken before they are added, so that rounding stays small.
  double central(Line& line, double h) const {
    const Array far_below = at(line, -2 * h), below = at(line, -h), above = at(line, h), far_above = at(line, 2 * h);
    line.move(0);
    const double *a = far_below.data<double>(), *b = below.data<double>(), *c = above.data<double>(), *d = far_above.data<double>();
    const auto w = weights_.values<double>();
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * (8 * (c[i] - b[i]) - (d[i] - a[i]));
    return sum / (12 * h);
  }

  // The same from one side, below for a negative h (Abramowitz and Stegun, 25.3.4, on five points): error O(h⁴) too.
  double sided(Line& line, double h) const {
    const Array here = at(line, 0), one = at(line, h), two = at(line, 2 * h), three = at(line, 3 * h), four = at(line, 4 * h);
    line.move(0);
    const double *f = here.data<double>(), *a = one.data<double>(), *b = two.data<double>(), *c = three.data<double>(),
                 *d = four.data<double>();
    const auto w = weights_.values<double>();
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i)
      sum += w[i] * (48 * (a[i] - f[i]) - 36 * (b[i] - f[i]) + 16 * (c[i] - f[i]) - 3 * (d[i] - f[i]));
    return sum / (12 * h);
  }

  Found look(Line& line, double analytic, double scale) const {
    // A power of two near step·max(1, |x|), so that x ± h and x ± 2h hardly round.
    const double step = std::exp2(std::round(std::log2(options_.step * precision_->step_factor * std::max(1.0, line.size()))));
    Found found;
    const auto fits = [&](double numeric) {
      if (!(std::abs(numeric - analytic) >= std::abs(found.numeric - analytic))) found.numeric = numeric;
      return std::abs(found.numeric - analytic) <= precision_->retry_above * scale;
    };
    double gap = 0;
    for (const double factor : precision_->shrink) {
      const double h = step * factor;
      if (fits(central(line, h))) return found;
      found.right = sided(line, h);
      found.left = sided(line, -h);
      if (fits(found.right) || fits(found.left)) return found;
      const double before = std::exchange(gap, std::abs(found.right - found.left));
      found.kink = gap > precision_->kink_above * scale && gap > before / 4;  // between two sides of a smooth f it falls with h⁴
    }
    const auto [low, high] = std::minmax(found.left, found.right);
    const double margin = precision_->kink_above * scale;
    found.kink = found.kink && analytic >= low - margin && analytic <= high + margin;
    return found;
  }

  // All positions of a small tensor; of a large one the first, the last and a seeded sample.
  std::vector<Dim> entries_of(Dim count) {
    const auto wanted = static_cast<std::size_t>(std::max<Dim>(options_.max_entries, 1));
    std::vector<Dim> entries = samples_.permutation(count);
    if (entries.size() <= wanted) return entries;
    std::partition(entries.begin(), entries.end(), [count](Dim entry) { return entry == 0 || entry == count - 1; });
    entries.resize(wanted);
    return entries;
  }

  // Entries ± one power of two, so that every entry counts alike and the moves hardly round; of length about 1.
  std::vector<double> direction_of(Dim count) {
    const double size = std::exp2(-std::round(std::log2(static_cast<double>(count)) / 2));
    std::vector<double> direction(static_cast<std::size_t>(count));
    for (double& each : direction) each = samples_.below(2) == 0 ? size : -size;
    return direction;
  }

  void check(Subject& subject, GradcheckReport& report) {
    const Array gradient = (subject.gradient ? subject.gradient : Array::zeros(subject.value->shape())).cast(DType::float64);
    const auto analytic = gradient.values<double>();
    GradcheckEntry worst{subject.path, {}, -1, 0, 0, -1};
    const auto compare = [&](Line line, double expected, double size, std::vector<Dim> index, Dim direction) {
      const double scale = size > std::max(options_.zero_below, precision_->zero_below) && std::isfinite(size) ? size : 1.0;
      const Found found = look(line, expected, scale);
      ++report.checked;
      double error = std::abs(expected - found.numeric) / scale;
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      // A difference that all but agrees has told enough: the last bits of it are rounding, which smaller steps beside a kink cannot mend.
      if (found.kink && error > 2 * precision_->retry_above) {
        if (!options_.skip_kinks) report.kinks.push_back({subject.path, std::move(index), direction, expected, found.left, found.right});
        return;
      }
      if (error > worst.error) worst = {subject.path, std::move(index), direction, expected, found.numeric, error};
    };
    if (options_.directions > 0) {
      for (Dim i = 0; i < options_.directions; ++i) {
        const std::vector<double> direction = direction_of(gradient.numel());
        double along = 0, squares = 0;
        for (std::size_t j = 0; j < direction.size(); ++j) {
          along += analytic[j] * direction[j];
          squares += analytic[j] * direction[j] * analytic[j] * direction[j];
        }
        compare(Line(*subject.value, direction), along, std::sqrt(squares), {}, i);
      }
    } else {
      double largest = 0;
      for (const double each : analytic) largest = std::max(largest, std::abs(each));
      for (const Dim entry : entries_of(gradient.numel()))
        compare(Line(*subject.value, entry), analytic[static_cast<std::size_t>(entry)], largest, detail::index_of(gradient.shape(), entry),
                -1);
    }
    if (worst.error < 0) return;  // every entry stands at a kink
    report.error = std::max(report.error, worst.error);
    report.tensors.push_back(std::move(worst));
  }

  const detail::GradcheckCall call_;
  const GradcheckOptions options_;
  std::vector<Array> inputs_;
  std::vector<NamedParameter> parameters_;
  std::vector<Subject> subjects_;  // inputs, then parameters
  const Precision* precision_ = &double_precision;
  Array weights_;
  Rng samples_;
};

}  // namespace

namespace detail {

void throw_gradcheck_arity(std::size_t inputs) {
  throw ValueError(fmt::format(
      "gradcheck: the function cannot be called with {} tensors. Take const std::vector<Tensor>&, or one const Tensor& per input", inputs));
}

GradcheckReport gradcheck(const GradcheckCall& call, std::vector<NamedParameter> parameters, const std::vector<Array>& inputs,
                          const GradcheckOptions& options) {
  return Checker(call, std::move(parameters), inputs, options).run();
}

}  // namespace detail
}  // namespace tapeform
