#include <tapeform/core/call_path.hpp>
#include <tapeform/core/error.hpp>

namespace tapeform {

const CallFrame*& call_stack() noexcept {
  static thread_local const CallFrame* innermost = nullptr;
  return innermost;
}

std::string current_path() {
  const CallFrame* const innermost = call_stack();
  if (!innermost) return {};
  const CallFrame* root = innermost;
  while (root->outer) root = root->outer;
  // A module that the root's fields do not hold (a local copy, say) is named by its type below the nearest one that they do.
  std::string below;
  for (const CallFrame* frame = innermost; frame != root; frame = frame->outer) {
    const std::string path = root->find(root->self, frame->self, frame->type);
    if (!path.empty()) return path + below;
    below = std::string("/") + frame->type_name() + below;
  }
  return root->type_name() + below;
}

static std::string with_path(const std::string& message) {
  const std::string path = current_path();
  return path.empty() ? message : path + ": " + message;
}

Error::Error(const std::string& message) : std::runtime_error(with_path(message)) {}
Error::~Error() = default;
ShapeError::~ShapeError() = default;
DTypeError::~DTypeError() = default;
TapeError::~TapeError() = default;
ValueError::~ValueError() = default;
IoError::~IoError() = default;
MemoryError::~MemoryError() = default;

}  // namespace tapeform
