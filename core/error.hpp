#pragma once
#include <stdexcept>
#include <string>

namespace tapeform {

/// Base of everything this library throws. The text reads `<module path>: <op>: <rule>; got …. <cure>`; the path of the module
/// that is running on this thread is put in front when the error is made.
///
/// Destructors are not inline, so that one file holds what a type costs: a table and a type name in every file that throws were 0.4 MB.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message);
  ~Error() override;
};

/// Shapes, ranks, axes or sizes that do not fit.
class ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};
/// Two dtypes in one operation, or an array read as another type than its own.
class DTypeError : public Error {
 public:
  using Error::Error;
  ~DTypeError() override;
};
/// A rule of the tape: see Tape.
class TapeError : public Error {
 public:
  using Error::Error;
  ~TapeError() override;
};
/// An argument outside its range: a label, a probability, an option.
class ValueError : public Error {
 public:
  using Error::Error;
  ~ValueError() override;
};
/// A file that cannot be read, written or understood.
class IoError : public Error {
 public:
  using Error::Error;
  ~IoError() override;
};
/// The system has no room for an array.
class MemoryError : public Error {
 public:
  using Error::Error;
  ~MemoryError() override;
};

}  // namespace tapeform
