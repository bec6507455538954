#pragma once
#include <string>

namespace tapeform {

/// One running module call, linked through the C++ stack. Core knows no module, only this: enough for an error, a profile or a
/// recorder to say where it happened. An object is the pair (address, type), since a struct and its first member share an address.
struct CallFrame {
  const void* self;
  const void* type;
  const char* (*type_name)();
  /// Walks the fields of `root` (an object of this frame's type) and returns the dotted path of (self, type), or nothing.
  std::string (*find)(const void* root, const void* self, const void* type);
  const CallFrame* outer;
};

/// The innermost running call on this thread; null outside of modules.
const CallFrame*& call_stack() noexcept;

/// `encoder.layers.2.self_attn` for the innermost running call, as the fields of the outermost one name it; the outermost
/// module's type name when it is itself the innermost; empty outside of modules.
std::string current_path();

}  // namespace tapeform
