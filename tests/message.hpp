#pragma once
#include <string>

/// What f says when it throws an E; "no error" when it throws nothing. Another exception is let through.
template <class E, class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}
