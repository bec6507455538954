#pragma once
#include <string>
#include <tapeform/core/io/tensors.hpp>

#include "detail/plain_file.hpp"
#include "detail/replacement.hpp"

namespace tapeform::io::detail {

/// The array of a whole .npy file. @throws IoError
NamedTensor parse_npy(const Where& where, const std::string& name, Bytes file);

/// What stands before the numbers, to numpy's byte; their bytes follow as `number_bytes`.
std::string npy_header(const NamedTensor& tensor);
Bytes number_bytes(const NamedTensor& tensor);

}  // namespace tapeform::io::detail
