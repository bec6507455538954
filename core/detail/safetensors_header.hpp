#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/io/safetensors.hpp>
#include <vector>

#include "detail/plain_file.hpp"

namespace tapeform::io::detail {

struct Header {
  std::vector<TensorInfo> tensors;  // in the order of the file
  Metadata metadata;
};

/// Bytes of one number.
std::uint64_t bytes_of(Stored stored) noexcept;

/// Checks everything that the header's text claims of the `data_bytes` that follow it. @throws IoError
Header parse_header(const Where& where, const std::string& text, std::uint64_t data_bytes);

/// write_safetensors with another name in errors.
void write_tensors(const char* op, const std::string& path, const std::vector<NamedTensor>& tensors, const Metadata& metadata,
                   const SafeTensorsOptions& options);

}  // namespace tapeform::io::detail
