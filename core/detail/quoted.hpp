#pragma once
#include <string>

namespace tapeform::io::detail {

// Both stand where JSON is read: its code is compiled into the library once.

/// A name as JSON writes it, for errors: bytes that are no UTF-8 are replaced, long names cut.
std::string quoted(const std::string& name);

/// A text as JSON writes it. @throws ValueError when it is no UTF-8.
std::string json_string(const std::string& text);

}  // namespace tapeform::io::detail
