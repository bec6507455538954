#pragma once
#include <string>

namespace {

/// What `f` throws as an E, in words.
template <class E, class F>
[[maybe_unused]] std::string message(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace
