#pragma once
#include <tapeform/nn/module.hpp>

namespace tapeform::nn {

namespace detail {
struct CastFields final : Fields {
  explicit CastFields(DType to) : dtype(to) {}
  DType dtype;
  void on_parameter(const char* name, Parameter& parameter) override;
  void on_buffer(const char* name, Array& buffer) override;
};
}  // namespace detail

/// Converts every parameter and buffer of a model to another dtype, in place, and lets go of its gradients: handles keep following
/// the parameters. `nn::cast(model, DType::float64)` is what a gradient check begins with.
template <class M>
void cast(const M& model, DType dtype) {
  detail::CastFields fields(dtype);
  walk(model, fields);
}

}  // namespace tapeform::nn
