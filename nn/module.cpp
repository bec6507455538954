#include <tapeform/nn/module.hpp>

namespace tapeform::nn::detail {

// g++ writes "… [with M = a::b::C]", clang "… [M = a::b::C]".
std::string short_type_name(const char* pretty_function) {
  const std::string text = pretty_function;
  const std::size_t begin = text.find("M = ") + 4;
  std::string name = text.substr(begin, text.find_first_of(";]", begin) - begin);
  const std::size_t arguments = name.find('<');
  const std::size_t colons = name.rfind("::", arguments);
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

}  // namespace tapeform::nn::detail
