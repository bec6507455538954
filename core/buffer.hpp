#pragma once
#include <cstddef>

namespace tapeform::detail {

/// A shared block of bytes, 64-byte aligned, with its count of owners in front of it. Opaque: see buffer.cpp.
struct Buffer;

Buffer* new_buffer(std::size_t bytes);  ///< one owner; uninitialised. @throws MemoryError
/// One owner of bytes that stand elsewhere; `release(owner)` is called with the last one's end. @throws MemoryError
Buffer* adopted_buffer(void* bytes, void* owner, void (*release)(void* owner) noexcept);
void retain(Buffer* buffer) noexcept;
void release(Buffer* buffer) noexcept;
bool is_unique(const Buffer* buffer) noexcept;
std::byte* bytes_of(Buffer* buffer) noexcept;
void count_copy() noexcept;

/// Owns one share of a buffer.
class BufferRef {
 public:
  BufferRef() = default;
  explicit BufferRef(std::size_t bytes) : buffer_(new_buffer(bytes)) {}
  explicit BufferRef(Buffer* buffer) noexcept : buffer_(buffer) {}  ///< takes over its one share
  BufferRef(const BufferRef& other) noexcept : buffer_(other.buffer_) {
    if (buffer_) retain(buffer_);
  }
  BufferRef(BufferRef&& other) noexcept : buffer_(other.buffer_) { other.buffer_ = nullptr; }
  BufferRef& operator=(BufferRef other) noexcept {
    Buffer* const mine = buffer_;
    buffer_ = other.buffer_;
    other.buffer_ = mine;
    return *this;
  }
  ~BufferRef() {
    if (buffer_) release(buffer_);
  }
  explicit operator bool() const noexcept { return buffer_ != nullptr; }
  bool unique() const noexcept { return is_unique(buffer_); }
  std::byte* bytes() const noexcept { return bytes_of(buffer_); }
  const Buffer* get() const noexcept { return buffer_; }

 private:
  Buffer* buffer_ = nullptr;
};

}  // namespace tapeform::detail
