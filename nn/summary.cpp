#include <tapeform/nn/summary.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace tapeform::nn::detail {

/// 1234567 as 1,234,567.
static std::string grouped(Dim number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

void SummaryFields::on_parameter(const char* name, Parameter& parameter) {
  const void* const id = parameter.ref().id();
  const auto known = std::ranges::find(rows, id, &Row::id);
  if (known != rows.end()) {
    rows.push_back({full(name), fmt::format("= {}", known->name)});
    return;
  }
  const Dim count = parameter.value().numel();
  rows.push_back({full(name), parameter.shape().str(), count, id});
  total += count;
  bytes += count * static_cast<Dim>(size_of(parameter.dtype()));
  if (!parameter.trainable()) frozen += count;
}

void SummaryFields::on_buffer(const char* name, Array& buffer) { rows.push_back({full(name), buffer.shape().str() + " buffer"}); }

void SummaryFields::on_alias(const char* name, Parameter& parameter) { on_parameter(name, parameter); }

std::string SummaryFields::text(const std::string& type) const {
  std::size_t name_width = 0, shape_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, row.name.size());
    shape_width = std::max(shape_width, row.shape.size());
  }
  std::string text = type + "\n";
  for (const Row& row : rows) {
    if (row.count)
      text += fmt::format("  {:<{}}  {:<{}}  {:>11}\n", row.name, name_width, row.shape, shape_width, grouped(row.count));
    else
      text += fmt::format("  {:<{}}  {}\n", row.name, name_width, row.shape);
  }
  const double size = static_cast<double>(bytes);
  text += fmt::format("{} parameters, ", grouped(total)) +
          (size < 1e6 ? fmt::format("{:.1f} kB", size / 1e3) : fmt::format("{:.1f} MB", size / 1e6));
  if (frozen) text += fmt::format(", {} of them frozen", grouped(frozen));
  return text + "\n";
}

}  // namespace tapeform::nn::detail
