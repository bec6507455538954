#pragma once
#include <string>
#include <vector>

namespace examples::translate {

/// Lines of a file descriptor as they come: what is there already, at most so many, and one at least unless the input has ended.
class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}
  /// @throws tapeform::IoError when reading fails.
  std::vector<std::string> next(std::size_t most);

 private:
  bool fill();

  int descriptor_;
  std::string waiting_;
  bool ended_ = false;
};

}  // namespace examples::translate
