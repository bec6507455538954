#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/tape.hpp>

namespace tapeform {

namespace {

constexpr double retry_above = 5e-12;                     // errors that a smaller step may still mend
constexpr double step_factors[] = {1.0, 0x1p-3, 0x1p-6};  // rounding grows as the step shrinks, so it shrinks only when it must

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
    differentiate();
    GradcheckReport report;
    for (Subject& subject : subjects_)
      if (subject.value->numel() > 0) check(subject, report);
    return report;
  }

 private:
  void add(std::string path, Array& value) {
    if (!value) throw ValueError(fmt::format("gradcheck: every input must hold numbers; got {} without any", path));
    if (value.dtype() != DType::float64)
      throw DTypeError(fmt::format("gradcheck: differences need float64; got {} {} {}. Use cast(DType::float64)", path, value.shape().str(),
                                   name(value.dtype())));
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

  void differentiate() {
    Rng rng(options_.rng_seed);
    Tape tape(rng);
    const std::vector<Tensor> x = watched(tape);
    const Tensor y = call_.run(call_.context, x);
    Rng draws = Rng(options_.rng_seed).stream(1);
    weights_ = uniform(y.shape(), -1.0, 1.0, draws, DType::float64);
    weights_.write<double>([](std::span<double> w) {
      for (double& weight : w) weight += std::copysign(0.5, weight);
    });
    tape.backward(y, weights_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) subjects_[i].gradient = tape.grad(x[i]);
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      subjects_[inputs_.size() + i].gradient = std::exchange(parameters_[i].ref.grad(), Array());
    if (!same_bits(y.value(), evaluate()))
      throw ValueError(
          "gradcheck: the function gave two results for the same inputs. Draw randomness from the tape (dropout), keep no state");
  }

  // Σ weights·(derivative of y by `entry`), each element's differences taken before they are added, so that rounding stays small.
  double difference(Array& value, Dim entry, double step) const {
    const double x = value.data<double>()[entry];
    const auto at = [&](double moved) {
      value.mutable_data<double>()[entry] = moved;
      return evaluate();
    };
    const Array far_below = at(x - 2 * step), below = at(x - step), above = at(x + step), far_above = at(x + 2 * step);
    value.mutable_data<double>()[entry] = x;
    const double *a = far_below.data<double>(), *b = below.data<double>(), *c = above.data<double>(), *d = far_above.data<double>();
    const auto w = weights_.values<double>();
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * (8 * (c[i] - b[i]) - (d[i] - a[i]));
    return sum / (12 * step);
  }

  double nearest_difference(Array& value, Dim entry, double analytic, double scale) const {
    // A power of two near step·max(1, |x|), so that x ± h and x ± 2h hardly round.
    const double size = std::max(1.0, std::abs(value.data<double>()[entry]));
    const double step = std::exp2(std::round(std::log2(options_.step * size)));
    double nearest = std::numeric_limits<double>::quiet_NaN();
    for (const double factor : step_factors) {
      const double numeric = difference(value, entry, step * factor);
      if (!(std::abs(numeric - analytic) >= std::abs(nearest - analytic))) nearest = numeric;
      if (std::abs(nearest - analytic) <= retry_above * scale) break;
    }
    return nearest;
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

  void check(Subject& subject, GradcheckReport& report) {
    const Array gradient = subject.gradient ? subject.gradient : Array::zeros(subject.value->shape(), DType::float64);
    const double* const analytic = gradient.data<double>();
    double largest = 0;
    for (Dim i = 0; i < gradient.numel(); ++i) largest = std::max(largest, std::abs(analytic[i]));
    const double scale = largest > options_.zero_below && std::isfinite(largest) ? largest : 1.0;
    GradcheckEntry worst{subject.path, {}, 0, 0, -1};
    for (const Dim entry : entries_of(gradient.numel())) {
      const double numeric = nearest_difference(*subject.value, entry, analytic[entry], scale);
      double error = std::abs(analytic[entry] - numeric) / scale;
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      ++report.checked;
      if (error <= worst.error) continue;
      worst.error = error;
      worst.analytic = analytic[entry];
      worst.numeric = numeric;
      worst.index = index_of(gradient.shape(), entry);
    }
    report.error = std::max(report.error, worst.error);
    report.tensors.push_back(std::move(worst));
  }

  static std::vector<Dim> index_of(const Shape& shape, Dim position) {
    std::vector<Dim> index(static_cast<std::size_t>(shape.rank()));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[static_cast<std::size_t>(axis)] = position % shape[axis];
      position /= shape[axis];
    }
    return index;
  }

  const detail::GradcheckCall call_;
  const GradcheckOptions options_;
  std::vector<Array> inputs_;
  std::vector<NamedParameter> parameters_;
  std::vector<Subject> subjects_;  // inputs, then parameters
  Array weights_;
  Rng samples_;
};

}  // namespace

const GradcheckEntry& GradcheckReport::worst() const {
  if (tensors.empty()) throw ValueError("gradcheck: nothing was checked: no input and no trainable parameter has an element");
  return *std::ranges::max_element(tensors, {}, &GradcheckEntry::error);
}

std::string GradcheckReport::str() const {
  if (tensors.empty()) return "gradcheck: nothing to check";
  const GradcheckEntry& entry = worst();
  return fmt::format("gradcheck: worst of {} entries: {} [{}]: analytic {:.17g}, numeric {:.17g}, error {:.3g}", checked, entry.path,
                     fmt::join(entry.index, ", "), entry.analytic, entry.numeric, entry.error);
}

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
