#pragma once
#include <string>
#include <tapeform/core/io/tensors.hpp>
#include <vector>

namespace tapeform::io {

/// Reads an array of numpy's .npy format (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), any version. The
/// tensor's name is the path. float16, float32 and float64 come as real numbers (float16 as float32), bools and integers as ids; big-endian
/// numbers and Fortran order are turned into ours. What a claim of the header would need is checked against the file before any room is
/// made for it.
/// @throws IoError that names the file and the rule: complex numbers, text, dates, records, objects, more than 8 axes, integers over 63
/// bits.
NamedTensor read_npy(const std::string& path);

/// Writes what `numpy.save` would, to the byte: float32, float64 or int64 in C order. The file is written whole or not at all, as by
/// write_safetensors. @throws ValueError when the array holds nothing; IoError when writing fails.
void write_npy(const std::string& path, const Array& array);
void write_npy(const std::string& path, const Ids& ids);

/// Reads all arrays of a .npz file, a zip archive of .npy files, stored or deflated; every checksum is checked.
/// @throws IoError that names the file, the member and the rule.
NamedTensors read_npz(const std::string& path);

struct NpzOptions {
  bool compressed = false;  ///< deflated, as by `numpy.savez_compressed`
};

/// Writes a .npz file that `numpy.load` reads: `name.npy` for each tensor. Whole or not at all, as by write_safetensors.
/// @throws ValueError for a name that is empty, too long or given twice, or an array that holds nothing; IoError when writing fails.
void write_npz(const std::string& path, const std::vector<NamedTensor>& tensors, const NpzOptions& options = {});

}  // namespace tapeform::io
