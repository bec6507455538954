#pragma once

/// Catch2, version 2 or 3: `#include "catch.hpp"` is the one spelling in tests. What differs between them has one name here:
/// `Catch::Approx`, matchers derived from `MatcherOf<T>`, `Contains` and `Equals` for strings.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

template <typename T>
using MatcherOf = Catch::Matchers::MatcherBase<T>;

inline auto Contains(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }  // its own is for elements
#else
#include <catch2/catch.hpp>

namespace Catch {
using Detail::Approx;  // else the matcher of the same name is found
}

template <typename T>
using MatcherOf = Catch::MatcherBase<T>;

using Catch::Matchers::Contains;
#endif

using Catch::Matchers::Equals;
