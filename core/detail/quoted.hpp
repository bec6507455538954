#pragma once
#include <string>

namespace tapeform::io::detail {

/// A name as JSON writes it, for errors: bytes that are no UTF-8 are replaced, long names cut.
std::string quoted(const std::string& name);

}  // namespace tapeform::io::detail
