#pragma once
#include <stdexcept>
#include <string>

namespace tapeform {

/// Base of everything this library throws. The text reads `<module path>: <op>: <rule>; got …. <cure>`; the path of the module
/// that is running on this thread is put in front when the error is made.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message);
};

/// Shapes, ranks, axes or sizes that do not fit.
class ShapeError : public Error {
  using Error::Error;
};
/// Two dtypes in one operation, or an array read as another type than its own.
class DTypeError : public Error {
  using Error::Error;
};
/// A rule of the tape: see Tape.
class TapeError : public Error {
  using Error::Error;
};
/// An argument outside its range: a label, a probability, an option.
class ValueError : public Error {
  using Error::Error;
};
/// A file that cannot be read, written or understood.
class IoError : public Error {
  using Error::Error;
};
/// The system has no room for an array.
class MemoryError : public Error {
  using Error::Error;
};

}  // namespace tapeform
