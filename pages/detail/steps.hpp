#pragma once
#include <string>
#include <tapeform/core/tensor.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/pages/explain.hpp>
#include <vector>

namespace tapeform::pages::detail {

/// Panels in the making, with what their titles begin with.
class Steps {
 public:
  using Tokens = std::vector<std::string>;

  /// values [1, R, C] or [R, C], or of heads [1, H, R, C].
  void add(const std::string& title, const std::string& formula, const std::string& axes, const Tensor& values, const Tokens& rows,
           const Tokens& columns = {}, bool weights = false);
  /// Titles that follow begin with this.
  void begin(const std::string& prefix) { prefix_ = prefix; }
  std::vector<Panel> take() { return std::move(panels_); }

 private:
  std::vector<Panel> panels_;
  std::string prefix_;
};

/// Every step of one attention, q [1, Tq, E], k [1, Tk, kdim], v [1, Tk, vdim]; returns its output.
Tensor attention_steps(Steps& steps, const nn::MultiHeadAttention& attention, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Mask& mask, const Steps::Tokens& queries, const Steps::Tokens& keys);

}  // namespace tapeform::pages::detail
