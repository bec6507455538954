#pragma once
#include <cstdint>

namespace tapeform {

/// What the arrays of this process hold and have cost. Counts are of the whole process, for every thread.
struct MemoryStats {
  std::int64_t live_bytes = 0;           ///< in buffers that somebody holds, in the size classes that they were rounded up to
  std::int64_t peak_live_bytes = 0;      ///< highest `live_bytes` of the threads, each at its own peak, since `reset_peak_memory()`
  std::int64_t cached_bytes = 0;         ///< in buffers kept for reuse
  std::uint64_t buffers = 0;             ///< taken since the start of the process
  std::uint64_t system_allocations = 0;  ///< of these, taken from the system and not reused
  std::uint64_t copies = 0;              ///< copies made because a shared buffer was about to be written
};

MemoryStats memory_stats() noexcept;

/// Starts `peak_live_bytes` again from what is live now (of the calling thread; other threads keep their peaks).
void reset_peak_memory() noexcept;

/// Gives the buffers that this thread keeps for reuse back to the system; with glibc also free pages between blocks that stay.
void release_cached_memory() noexcept;

}  // namespace tapeform
