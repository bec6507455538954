#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/io/tensors.hpp>
#include <vector>

namespace tapeform::io {

/// How a safetensors file stores the numbers of a tensor. The first four are read as real numbers (f16 and bf16 as float32), the others
/// as ids.
enum class Stored : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };

/// `F64`, `F32`, `F16`, `BF16`, `I64`, `I32`, `U8` or `BOOL`, as a header spells it.
const char* name(Stored stored) noexcept;

/// What the header of a file says of one tensor.
struct TensorInfo {
  std::string name;
  Stored stored = Stored::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  ///< its bytes, counted from the header's end

  bool is_ids() const noexcept { return stored >= Stored::i64; }
  /// Of the array that is read; nothing for ids.
  DType dtype() const noexcept { return is_ids() ? no_dtype : stored == Stored::f64 ? DType::float64 : DType::float32; }
};

/// A safetensors file whose header has been read and checked; each tensor is read when it is asked for. The file stays open, so what
/// takes its place on the disk later changes nothing here. Threads may read from one reader at the same time.
class SafeTensorsReader {
 public:
  /// @throws IoError that names the file, the tensor and the rule.
  explicit SafeTensorsReader(const std::string& path);
  SafeTensorsReader(SafeTensorsReader&& other) noexcept;
  SafeTensorsReader& operator=(SafeTensorsReader&& other) noexcept;
  ~SafeTensorsReader();

  const std::string& path() const noexcept { return path_; }
  /// In the order of the alphabet.
  const std::vector<TensorInfo>& tensors() const noexcept { return tensors_; }
  /// Null when there is no such tensor.
  const TensorInfo* find(const std::string& name) const noexcept;
  bool contains(const std::string& name) const noexcept { return find(name) != nullptr; }
  const Metadata& metadata() const noexcept { return metadata_; }

  /// @throws IoError when there is no such tensor, it is of the other kind, or reading fails.
  Array array(const std::string& name) const;
  Ids ids(const std::string& name) const;
  /// One of `tensors()`. @throws IoError when reading fails.
  NamedTensor read(const TensorInfo& tensor) const;

 private:
  const TensorInfo& need(const std::string& name) const;

  std::string path_;
  int file_ = -1;
  std::uint64_t data_begin_ = 0;
  std::vector<TensorInfo> tensors_;  // sorted by name
  Metadata metadata_;
};

/// What `read_safetensors` gives.
using SafeTensors = NamedTensors;

/// Reads a safetensors file (https://github.com/huggingface/safetensors, "Format"): 8 bytes of header length, a JSON header, the
/// numbers. Everything that the header claims is checked against the file before any room is made for it.
/// @throws IoError that names the file, the tensor and the rule.
SafeTensors read_safetensors(const std::string& path);

/// The type that real numbers get in a file. In 16 bits they are rounded to the nearest, ties to even; NaN stays NaN, and what is over the
/// largest number (65504 in float16) becomes infinite.
enum class Reals : std::uint8_t { as_they_are, float16, bfloat16 };

struct SafeTensorsOptions {
  Reals reals = Reals::as_they_are;
};

/// Writes a safetensors file in the order of `tensors`. The bytes go to a new file beside `path`, onto the disk, and then take
/// `path`'s place in one step: whatever stops the program, `path` holds the old file or the new one, whole. A link is followed; a
/// device or a pipe is written to.
/// @throws ValueError for a name given twice, reserved or not UTF-8, or an array that holds nothing; IoError when writing fails.
void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors, const Metadata& metadata = {},
                       const SafeTensorsOptions& options = {});

}  // namespace tapeform::io
