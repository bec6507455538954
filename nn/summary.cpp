#include <tapeform/nn/summary.hpp>
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <tapeform/core/memory.hpp>

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

CallTrace::CallTrace() : outer_(call_observer()) { call_observer() = this; }
CallTrace::~CallTrace() { call_observer() = outer_; }

double CallTrace::flop() const {
  double sum = 0;
  for (const ProfileRow& row : profile_.rows()) sum += row.flop;
  return sum;
}

void CallTrace::begins(const CallFrame& call) {
  const bool outermost = open_.empty();
  open_.push_back(calls.size());
  calls.push_back({.summary = {.path = outermost ? "" : current_path(), .type = call.type_name(), .output = {}},
                   .self = call.self,
                   .type = call.type,
                   .live_before = memory_stats().live_bytes,
                   .flop_before = flop()});
}

void CallTrace::ended(const CallFrame&, const Tensor& result) {
  Call& call = calls[open_.back()];
  open_.pop_back();
  call.summary.output = result.shape();
  call.summary.activation_bytes = memory_stats().live_bytes - call.live_before;
  call.summary.flop = flop() - call.flop_before;
}

bool ModuleCounter::enter(const char*, const void* s, const void* t) {
  if (depth_ > 0 || (s == self && t == type)) ++depth_;
  return true;
}

void ModuleCounter::leave() {
  if (depth_ > 0) --depth_;
}

void ModuleCounter::on_parameter(const char*, Parameter& parameter) {
  if (depth_ == 0) return;
  ParameterRef ref = parameter.ref();
  if (std::ranges::find(counted_, ref) != counted_.end()) return;
  count += parameter.value().numel();
  counted_.push_back(std::move(ref));
}

/// 1234567 as 1.2 M.
static std::string rounded(double number, const char* unit) {
  for (const char* prefix : {"", "k", "M", "G", "T"}) {
    if (number < 999.95 || *prefix == 'T') return fmt::format("{:.{}f} {}{}", number, *prefix ? 1 : 0, prefix, unit);
    number /= 1000;
  }
  return {};
}

std::string text(const std::vector<CallSummary>& calls) {
  std::vector<std::array<std::string, 6>> lines = {{"module", "type", "output", "parameters", "activations", "work"}};
  for (const CallSummary& call : calls)
    lines.push_back({call.path.empty() ? "(model)" : call.path, call.type, call.output.str(), grouped(call.parameters),
                     rounded(static_cast<double>(call.activation_bytes), "B"), rounded(call.flop, "FLOP")});
  std::array<std::size_t, 6> widths{};
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const auto& line : lines)
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}\n", line[0], widths[0], line[1], widths[1], line[2], widths[2],
                        line[3], widths[3], line[4], widths[4], line[5], widths[5]);
  return text;
}

}  // namespace tapeform::nn::detail
