#pragma once
#include <cstddef>
#include <cstdint>

namespace tapeform {

/// The element types of an Array: `float32` trains, `float64` checks gradients. Nothing promotes one to the other silently.
enum class DType : std::uint8_t { float32, float64 };

/// What an Array that holds nothing answers.
inline constexpr DType no_dtype = static_cast<DType>(255);

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) noexcept { return dtype == DType::float32 ? 4 : 8; }

/// `"float32"` or `"float64"`; `"nothing"` for an array that holds nothing.
constexpr const char* name(DType dtype) noexcept {
  return dtype == DType::float32 ? "float32" : dtype == DType::float64 ? "float64" : "nothing";
}

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::float64;
};
/// The DType of the C++ type `float` or `double`.
template <class T>
inline constexpr DType dtype_of_v = dtype_of<T>::value;

}  // namespace tapeform
