#include <tapeform/nn/cast.hpp>

namespace tapeform::nn::detail {

void CastFields::on_parameter(const char*, Parameter& parameter) {
  const ParameterRef ref = parameter.ref();
  if (ref.dtype() == dtype) return;
  ref.value() = ref.value().cast(dtype);
  ref.grad() = Array();
}

void CastFields::on_buffer(const char*, Array& buffer) {
  if (buffer) buffer = buffer.cast(dtype);
}

}  // namespace tapeform::nn::detail
