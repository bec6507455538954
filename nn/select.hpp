#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::nn {

/// True when the whole name fits the pattern: `*` stands for any text, dots too, and `?` for any one character.
/// `matches("encoder.layers.0.norm1.bias", "encoder.*.bias")`.
bool matches(std::string_view name, std::string_view pattern) noexcept;

namespace detail {

/// Parameters one of whose names, aliases too, fits a pattern.
struct Selection final : PathFields {
  explicit Selection(std::string_view wanted) : pattern(wanted) {}
  std::string pattern;
  std::vector<std::string> names;  // all that there are
  std::vector<NamedParameter> found;
  std::vector<Parameter*> members;
  void on_parameter(const char* name, Parameter& parameter) override { look_at(full(name), parameter); }
  void on_alias(const char* name, Parameter& parameter) override { look_at(full(name), parameter); }
  /// @throws ValueError when no parameter was found.
  void check(const char* op) const;

 private:
  void look_at(std::string name, Parameter& parameter);
};

template <class M>
Selection select(const char* op, const M& model, std::string_view pattern) {
  Selection selection(pattern);
  walk(model, selection);
  selection.check(op);
  return selection;
}

std::size_t set_trainable(const Selection& selection, bool trainable) noexcept;

}  // namespace detail

/// The parameters of which a name fits the pattern, each once under the first name that does:
/// `optim::ParameterGroup{.parameters = nn::named_parameters(model, "encoder.*"), .lr_factor = 0.1}`.
/// @throws ValueError when there is none.
template <class M>
std::vector<NamedParameter> named_parameters(const M& model, std::string_view pattern) {
  return detail::select("named_parameters", model, pattern).found;
}

/// Freezes the parameters of which a name fits the pattern: constants under every tape, without a gradient, that no optimizer moves.
/// Returns their number. @throws ValueError when there is none.
template <class M>
std::size_t freeze(M& model, std::string_view pattern = "*") {
  return detail::set_trainable(detail::select("freeze", model, pattern), false);
}

/// The opposite.
template <class M>
std::size_t unfreeze(M& model, std::string_view pattern = "*") {
  return detail::set_trainable(detail::select("unfreeze", model, pattern), true);
}

}  // namespace tapeform::nn
