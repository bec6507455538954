#pragma once

/// Matchers for tests of your own ops and modules with Catch2, version 2 or 3: `#include <tapeform/testing.hpp>`. Opt-in: the library
/// itself does not need Catch2, `tapeform.hpp` does not include this.

#if __has_include(<catch2/matchers/catch_matchers.hpp>)
#include <catch2/catch_test_macros.hpp>  // which version 2 brings along
#include <catch2/matchers/catch_matchers.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <memory>
#include <ostream>
#include <string>
#include <tapeform/core/compare.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapeform {

namespace detail {
#if __has_include(<catch2/matchers/catch_matchers.hpp>)
template <class T>
using CatchMatcher = Catch::Matchers::MatcherBase<T>;
#else
template <class T>
using CatchMatcher = Catch::MatcherBase<T>;
#endif

using Given = const Tensor&;
using AllGiven = const std::vector<Tensor>&;
template <class F, class... Inputs>
inline constexpr bool gives_tensor = std::is_invocable_r_v<Tensor, const F&, Inputs...>;
template <class F>
concept TakesTensors =
    gives_tensor<F, Given> || gives_tensor<F, Given, Given> || gives_tensor<F, Given, Given, Given> || gives_tensor<F, AllGiven>;
}  // namespace detail

/// A function or module whose derivatives are to be checked, and where: what `gradients` returns.
class CheckedGradients {
 public:
  template <class F>
  CheckedGradients(F&& f, std::vector<NamedParameter> parameters, std::vector<Array> inputs)
      : parameters_(std::move(parameters)), inputs_(std::move(inputs)) {
    using Function = std::remove_cvref_t<F>;
    if constexpr (std::is_function_v<Function>) {
      kept_ = std::make_shared<Function*>(f);
      call_ = {kept_.get(),
               [](const void* f, const std::vector<Tensor>& x) { return detail::call_with(*static_cast<Function* const*>(f), x); }};
    } else if constexpr (std::is_lvalue_reference_v<F>) {
      call_ = detail::erased(f);
    } else {  // written in the very expression, kept with it
      const auto kept = std::make_shared<const Function>(std::forward<F>(f));
      kept_ = kept;
      call_ = detail::erased(*kept);
    }
  }

  GradcheckReport check(const GradcheckOptions& options) const { return detail::gradcheck(call_, parameters_, inputs_, options); }

  friend std::ostream& operator<<(std::ostream& out, const CheckedGradients& gradients) {
    out << "gradients at";
    for (const Array& input : gradients.inputs_) out << ' ' << name(input.dtype()) << ' ' << input.shape();
    if (gradients.inputs_.empty()) out << " no input";
    if (!gradients.parameters_.empty()) out << ", with " << gradients.parameters_.size() << " parameters";
    return out;
  }

 private:
  std::shared_ptr<const void> kept_;
  detail::GradcheckCall call_{};
  std::vector<NamedParameter> parameters_;
  std::vector<Array> inputs_;
};

/// The derivatives of f at the inputs, for `GradientsMatch`. f takes as many `const Tensor&` (up to three), or one
/// `const std::vector<Tensor>&`, and returns a tensor of any shape. The parameters of a module are checked as well. A named f is used
/// where it stands; one written in the expression is kept.
template <class F, class... Inputs>
requires(detail::TakesTensors<std::remove_cvref_t<F>> && (std::is_convertible_v<const Inputs&, Array> && ...)) CheckedGradients
    gradients(F&& f, const Inputs&... inputs) {
  std::vector<NamedParameter> parameters;
  if constexpr (Visitable<std::remove_cvref_t<F>>) parameters = named_parameters(f);
  return CheckedGradients(std::forward<F>(f), std::move(parameters), {inputs...});
}

/// The same for a function that calls the module, with a mask or ids say: `gradients(model, [&](const Tensor& x) { … }, x)`.
template <Visitable M, class F, class... Inputs>
requires(detail::TakesTensors<std::remove_cvref_t<F>> && (std::is_convertible_v<const Inputs&, Array> && ...)) CheckedGradients
    gradients(const M& module, F&& f, const Inputs&... inputs) {
  return CheckedGradients(std::forward<F>(f), named_parameters(module), {inputs...});
}

struct GradientsMatchOptions {
  double tolerance = 0;        ///< of the error over the tensor's largest gradient; 0: 1e-9, in float32 2e-3
  Dim sample = 256;            ///< entries of each tensor that are looked at; the first and the last are among them
  Dim directions = 0;          ///< when not 0: so many random directions of each tensor, with every entry moving, and no single entries
  bool skip_kinks = false;     ///< leave out entries at which f has no derivative; otherwise they fail, and say so
  bool allow_float32 = false;  ///< differences in float32 are right to three digits or so; otherwise float32 is a DTypeError
  std::uint64_t rng_seed = 1;  ///< dropout, samples and directions
};

/// `REQUIRE_THAT(gradients(module, x), GradientsMatch())`: backward agrees with differences of the function's values. On failure it names
/// ops, tensor and index, and both numbers, for every tensor that is wrong; an input at a kink of the function, where a difference
/// means nothing, is told apart from an error.
class GradientsMatch : public detail::CatchMatcher<CheckedGradients> {
 public:
  using Options = GradientsMatchOptions;
  explicit GradientsMatch(const Options& options = {}) : options_(options) {}

  bool match(const CheckedGradients& gradients) const override {
    report_ = gradients.check({.max_entries = options_.sample,
                               .directions = options_.directions,
                               .skip_kinks = options_.skip_kinks,
                               .allow_float32 = options_.allow_float32,
                               .rng_seed = options_.rng_seed});
    tolerance_ = options_.tolerance > 0 ? options_.tolerance : report_.single_precision ? 2e-3 : 1e-9;
    return !report_.tensors.empty() && report_.ok(tolerance_);
  }
  std::string describe() const override {
    std::string text = "match differences\n" + report_.str();
    for (const GradcheckEntry& entry : report_.tensors)
      if (!(entry.error <= tolerance_)) text += "\nwrong: " + entry.str();
    return text;
  }

 private:
  Options options_;
  mutable GradcheckReport report_;  // of the last match, for its description
  mutable double tolerance_ = 0;
};

/// `CHECK_THAT(y.value(), IsClose(expected, {.rtol = 1e-6}))`: same shape, dtype and, within tolerances, numbers; on failure says where
/// they differ. Without options the numbers are equal.
class IsClose : public detail::CatchMatcher<Array> {
 public:
  using Options = CompareOptions;
  explicit IsClose(Array expected, const Options& options = {}) : expected_(std::move(expected)), options_(options) {}

  bool match(const Array& x) const override {
    found_ = compare(x, expected_, options_);
    return found_.agree;
  }
  std::string describe() const override { return "is close to what is expected: " + found_.text; }

 private:
  Array expected_;
  Options options_;
  mutable Comparison found_;
};

}  // namespace tapeform
