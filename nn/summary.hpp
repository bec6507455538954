#pragma once
#include <string>
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::nn {

namespace detail {
struct SummaryFields final : PathFields {
  struct Row {
    std::string name, shape;
    Dim count = 0;  // 0 for a second name
    const void* id = nullptr;
  };
  std::vector<Row> rows;
  Dim total = 0, bytes = 0, frozen = 0;
  void on_parameter(const char* name, Parameter& parameter) override;
  void on_buffer(const char* name, Array& buffer) override;
  void on_alias(const char* name, Parameter& parameter) override;
  std::string text(const std::string& type) const;
};
}  // namespace detail

/// A model as text: its type, one line for every parameter (path, shape, count), what is tied to what, and the total.
template <class M>
std::string summary(const M& model) {
  detail::SummaryFields fields;
  walk(model, fields);
  return fields.text(detail::type_name<M>());
}

}  // namespace tapeform::nn
