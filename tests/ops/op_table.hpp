#pragma once
#include <concepts>
#include <functional>
#include <string>
#include <tapeform/core/ops/ops.hpp>
#include <type_traits>
#include <utility>
#include <vector>

/// The table of docs/ops.md: every public op with a call of it that is measured, and the golden cases that compare it.
namespace op_table {

using Tensors = std::vector<tapeform::Tensor>;
using Inputs = std::vector<tapeform::Array>;

struct Row {
  std::string op;      ///< as core/ops declares it
  std::string form;    ///< what is called
  std::string golden;  ///< runners of golden cases, `file/prefix`, with spaces between them; `none: …` says why there is none
  Inputs inputs;       ///< in float64; an op of ids alone has none
  std::string result;  ///< its type
  std::function<tapeform::Tensor(const Tensors&)> f;  ///< a constant where the result is no tensor
};

inline tapeform::Tensor as_tensor(tapeform::Tensor y) { return y; }
inline tapeform::Tensor as_tensor(const tapeform::Ids& ids) { return tapeform::Array::zeros(ids.shape()); }
inline tapeform::Tensor as_tensor(const tapeform::TopK& best) { return best.values; }

template <class F>
Row row(std::string op, std::string form, std::string golden, Inputs inputs, F f) {
  using Result = std::invoke_result_t<const F&, const Tensors&>;
  std::string result = "Tensor";
  if constexpr (std::same_as<Result, tapeform::Ids>) result = "Ids";
  if constexpr (std::same_as<Result, tapeform::Array>) result = "Array";
  if constexpr (std::same_as<Result, tapeform::TopK>) result = "TopK";
  return {std::move(op),     std::move(form),   std::move(golden),
          std::move(inputs), std::move(result), [f](const Tensors& x) { return as_tensor(f(x)); }};
}

/// In the order of the headers and of what they declare.
std::vector<Row> rows();

}  // namespace op_table
