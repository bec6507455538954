#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/fields.hpp>
#include <tapeform/core/tensor.hpp>
#include <type_traits>
#include <vector>

namespace tapeform {

struct GradcheckOptions {
  double step = 0x1p-11;       ///< h for entries of size up to 1; it grows with larger ones, and is 64 times that in float32
  Dim max_entries = 256;       ///< of one tensor; larger ones are sampled
  Dim directions = 0;          ///< when not 0: so many random directions of each tensor, all of its entries moving, and no single entries
  bool skip_kinks = false;     ///< leave entries out at which f has no derivative
  bool allow_float32 = false;  ///< differences in float32 are right to three digits or so
  std::uint64_t rng_seed = 1;  ///< dropout, the weights of the output, samples and directions
  double zero_below = 1e-12;   ///< a gradient nowhere larger than this counts as 0: its error is absolute (1e-5 in float32)
};

/// One derivative, worked out twice.
struct GradcheckEntry {
  std::string path;        ///< `input 0`, or a parameter's dotted name
  std::vector<Dim> index;  ///< on every axis of that tensor; empty for a direction
  Dim direction = -1;      ///< number of a random direction
  double analytic = 0, numeric = 0;
  double error = 0;  ///< |analytic − numeric| over the largest gradient of the tensor; absolute where the gradient is all 0

  std::string str() const;  ///< `input 0 [1, 3]: analytic …, numeric …, error …`
};

/// A place where f has a kink: differences from its two sides disagree however small, and the derivative lies between them.
struct GradcheckKink {
  std::string path;
  std::vector<Dim> index;
  Dim direction = -1;
  double analytic = 0, left = 0, right = 0;
};

struct GradcheckReport {
  double error = 0;                     ///< the worst of all; infinite when a derivative is not a number
  Dim checked = 0;                      ///< entries compared
  std::vector<GradcheckEntry> tensors;  ///< the worst entry of every input and parameter that has entries
  std::vector<GradcheckKink> kinks;     ///< entries of which a difference says nothing; none when they are skipped
  bool single_precision = false;        ///< something was float32
  std::vector<std::string> ops;         ///< that f is made of, each once, in the order of their first use

  bool ok(double tolerance = 1e-11) const noexcept { return error <= tolerance && kinks.empty(); }
  /// The entry with the largest error. @throws ValueError when there was nothing to check.
  const GradcheckEntry& worst() const;
  /// The worst entry in one line (ops, path, index, analytic, numeric, error) and, if there are any, the first kink in another.
  std::string str() const;
};

namespace detail {

/// The checked function without its type.
struct GradcheckCall {
  const void* context;
  Tensor (*run)(const void* context, const std::vector<Tensor>& x);
};

GradcheckReport gradcheck(const GradcheckCall& call, std::vector<NamedParameter> parameters, const std::vector<Array>& inputs,
                          const GradcheckOptions& options);
[[noreturn]] void throw_gradcheck_arity(std::size_t inputs);

template <class F>
Tensor call_with(const F& f, const std::vector<Tensor>& x) {
  if constexpr (std::is_invocable_r_v<Tensor, const F&, const std::vector<Tensor>&>) {
    return f(x);
  } else {
    using T = const Tensor&;
    if constexpr (std::is_invocable_r_v<Tensor, const F&, T>)
      if (x.size() == 1) return f(x[0]);
    if constexpr (std::is_invocable_r_v<Tensor, const F&, T, T>)
      if (x.size() == 2) return f(x[0], x[1]);
    if constexpr (std::is_invocable_r_v<Tensor, const F&, T, T, T>)
      if (x.size() == 3) return f(x[0], x[1], x[2]);
    throw_gradcheck_arity(x.size());
  }
}

template <class F>
GradcheckCall erased(const F& f) {
  return {&f, [](const void* context, const std::vector<Tensor>& x) { return call_with(*static_cast<const F*>(context), x); }};
}

}  // namespace detail

/// Compares the derivatives of f, as backward finds them, with differences of its values:
///
///     (8·(f(x + h) − f(x − h)) − (f(x + 2h) − f(x − 2h))) / 12h        error O(h⁴)
///
/// `f` takes the inputs as `const std::vector<Tensor>&`, or as one to three `const Tensor&`, and returns a tensor of any shape. Its
/// elements are weighted with fixed random numbers, each at least 0.5 in size, so that errors do not cancel in a sum. Every run sees
/// the same random numbers, so dropout is a fixed function. Numbers that f captures are constants; ids are captured.
///
/// Where the two disagree, smaller steps and differences to one side are tried too: a kink (relu at 0) may lie within the stencil, or
/// at the very entry. A derivative that is that of one side is right. One that is neither side's but between them cannot be judged
/// by differences: it is told among `kinks`, and the check is not ok, unless they are skipped.
/// @throws DTypeError unless all inputs and parameters are float64 (or float32 is allowed), ValueError when f does not give one result for
/// one input, TapeError when no gradient reaches f's result. Source of the stencil: Abramowitz and Stegun, "Handbook of Mathematical
/// Functions", 1964, 25.3.6.
template <class F>
requires(!Visitable<F>) GradcheckReport gradcheck(const F& f, const std::vector<Array>& inputs, const GradcheckOptions& options = {}) {
  const std::conditional_t<std::is_function_v<F>, F*, const F&> callable = f;  // a function is not an object: its pointer is
  return detail::gradcheck(detail::erased(callable), {}, inputs, options);
}

/// The same for a module that is called with the inputs: its trainable parameters are checked too. Values and gradients are
/// afterwards what they were.
template <Visitable M>
GradcheckReport gradcheck(const M& module, const std::vector<Array>& inputs, const GradcheckOptions& options = {}) {
  return detail::gradcheck(detail::erased(module), named_parameters(module), inputs, options);
}

/// The same for a function that calls the module.
template <Visitable M, class F>
GradcheckReport gradcheck(const M& module, const F& f, const std::vector<Array>& inputs, const GradcheckOptions& options = {}) {
  const std::conditional_t<std::is_function_v<F>, F*, const F&> callable = f;
  return detail::gradcheck(detail::erased(callable), named_parameters(module), inputs, options);
}

}  // namespace tapeform
