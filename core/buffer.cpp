#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <tapeform/core/buffer.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/memory.hpp>
#include <vector>

namespace tapeform::detail {

struct alignas(64) Buffer {
  std::atomic<std::uint32_t> owners;
  std::uint32_t size_class;
  std::size_t size;  // of the whole block, this header included
  std::byte* bytes;  // after this header, or elsewhere when adopted
  void* owner;       // of adopted bytes
  void (*release)(void* owner) noexcept;
};
static_assert(sizeof(Buffer) == 64);

namespace {

#ifdef TAPEFORM_SANITIZE_MEMORY
constexpr bool recycle = false;  // every buffer its own exact block, so that the sanitizers see its ends and its death
#else
constexpr bool recycle = true;
#endif

// Size classes: four to each doubling, so a block wastes a fifth at most.
constexpr std::size_t smallest = 128;
constexpr std::uint32_t classes = 4 * 40;

std::uint32_t class_of(std::size_t size) {
  if (size <= smallest) return 0;
  const auto doubling = static_cast<std::uint32_t>(std::bit_width(size - 1)) - 1;  // 2^doubling < size <= 2^(doubling + 1)
  const std::size_t quarter = std::size_t{1} << (doubling - 2);
  const auto step = static_cast<std::uint32_t>((size - 1 - (std::size_t{1} << doubling)) / quarter);
  return 4 * (doubling - 7) + step + 1;
}

std::size_t size_of_class(std::uint32_t c) {
  if (c == 0) return smallest;
  const std::uint32_t doubling = (c - 1) / 4 + 7, step = (c - 1) % 4;
  return (std::size_t{1} << doubling) + (step + 1) * (std::size_t{1} << (doubling - 2));
}

// Written by their own thread alone; atomic so that another may read them.
struct Counters {
  std::atomic<std::int64_t> live{0}, peak{0}, cached{0};
  std::atomic<std::uint64_t> buffers{0}, system{0}, copies{0};
};

template <class T>
void bump(std::atomic<T>& counter, T by) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

struct Registry {
  std::mutex mutex;
  std::vector<Counters*> threads;
  MemoryStats ended;  // what threads that are gone had counted
};
Registry& registry() {
  static Registry* const instance = new Registry;  // never destroyed: threads may end after static destructors
  return *instance;
}

// The free blocks of one thread. Trivially destructible parts first: usable until the very end of the thread.
struct FreeList {
  Buffer* head = nullptr;
  std::uint32_t count = 0;
};
struct ThreadCache {
  Counters counters;
  FreeList lists[classes];
  ThreadCache() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.threads.push_back(&counters);
  }
  ~ThreadCache();
  void drop(std::uint32_t c) noexcept;
  void trim(std::int64_t bytes) noexcept;
};
thread_local bool cache_gone = false;

Buffer*& next(Buffer* block) noexcept { return *reinterpret_cast<Buffer**>(reinterpret_cast<std::byte*>(block) + sizeof(Buffer)); }

void ThreadCache::drop(std::uint32_t c) noexcept {
  Buffer* const block = lists[c].head;
  lists[c].head = next(block);
  --lists[c].count;
  bump(counters.cached, -static_cast<std::int64_t>(block->size));
  std::free(block);
}

// Largest classes first: they hold most, and a step that changes its sizes rarely asks for the same large one again.
void ThreadCache::trim(std::int64_t bytes) noexcept {
  for (std::uint32_t c = classes; c-- > 0;)
    while (lists[c].head && counters.cached.load(std::memory_order_relaxed) > bytes) drop(c);
}

ThreadCache::~ThreadCache() {
  trim(0);
  cache_gone = true;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.threads, &counters);
  all.ended.live_bytes += counters.live;
  all.ended.buffers += counters.buffers;
  all.ended.system_allocations += counters.system;
  all.ended.copies += counters.copies;
}

ThreadCache& cache() {
  static thread_local ThreadCache instance;
  return instance;
}

// What a thread may keep beside what is live: half as much again as its live peak, and 64 MiB. Live is below 0 in a thread that frees
// what others made; counted as such it would let that thread keep everything.
bool has_room(const Counters& c, std::int64_t size) noexcept {
  const std::int64_t peak = c.peak.load(std::memory_order_relaxed), live = c.live.load(std::memory_order_relaxed);
  return std::max<std::int64_t>(live, 0) + c.cached.load(std::memory_order_relaxed) + size <= peak + peak / 2 + (std::int64_t{64} << 20);
}

void count_live(Counters& c, std::int64_t bytes) noexcept {
  const std::int64_t live = c.live.load(std::memory_order_relaxed) + bytes;
  c.live.store(live, std::memory_order_relaxed);
  if (live > c.peak.load(std::memory_order_relaxed)) c.peak.store(live, std::memory_order_relaxed);
}

Buffer* take_from_system(ThreadCache& mine, std::size_t size) {
  const auto signed_size = static_cast<std::int64_t>(size);
  if (recycle && !has_room(mine.counters, signed_size)) mine.trim(std::max<std::int64_t>(0, mine.counters.cached - signed_size));
  bump<std::uint64_t>(mine.counters.system, 1);
  void* block = nullptr;
  if (posix_memalign(&block, 64, size) == 0) return static_cast<Buffer*>(block);
  mine.trim(0);
  if (posix_memalign(&block, 64, size) == 0) return static_cast<Buffer*>(block);
  throw MemoryError(fmt::format("array: the system has no {} bytes ({} live). Use a smaller batch or a shorter sequence", size,
                                mine.counters.live.load()));
}

}  // namespace

Buffer* new_buffer(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 46)) throw MemoryError(fmt::format("array: {} bytes are more than any system has", bytes));
  ThreadCache& mine = cache();
  const std::size_t wanted = bytes + sizeof(Buffer);
  const std::uint32_t c = class_of(wanted);
  const std::size_t size = recycle ? size_of_class(c) : std::max(wanted, sizeof(Buffer) + sizeof(void*));
  Buffer* block = recycle ? mine.lists[c].head : nullptr;
  if (block) {
    mine.lists[c].head = next(block);
    --mine.lists[c].count;
    bump(mine.counters.cached, -static_cast<std::int64_t>(size));
  } else {
    block = take_from_system(mine, size);
  }
  new (block) Buffer{{1}, c, size, reinterpret_cast<std::byte*>(block) + sizeof(Buffer), nullptr, nullptr};
  count_live(mine.counters, static_cast<std::int64_t>(size));
  bump<std::uint64_t>(mine.counters.buffers, 1);
  return block;
}

Buffer* adopted_buffer(void* bytes, void* owner, void (*release)(void* owner) noexcept) {
  Buffer* const block = new_buffer(0);
  block->bytes = static_cast<std::byte*>(bytes);
  block->owner = owner;
  block->release = release;
  return block;
}

void retain(Buffer* buffer) noexcept { buffer->owners.fetch_add(1, std::memory_order_relaxed); }

void release(Buffer* buffer) noexcept {
  // A single owner needs no locked instruction: nobody else can be adding an owner to it.
  if (buffer->owners.load(std::memory_order_acquire) != 1 && buffer->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (buffer->release) buffer->release(buffer->owner);
  const auto size = static_cast<std::int64_t>(buffer->size);
  if (cache_gone) {  // released by a destructor that runs after this thread's cache
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.ended.live_bytes -= size;
    std::free(buffer);
    return;
  }
  ThreadCache& mine = cache();
  bump(mine.counters.live, -size);
  if (!recycle || !has_room(mine.counters, size)) {
    std::free(buffer);
    return;
  }
  FreeList& list = mine.lists[buffer->size_class];
  next(buffer) = list.head;
  list.head = buffer;
  ++list.count;
  bump(mine.counters.cached, size);
}

bool is_unique(const Buffer* buffer) noexcept { return buffer->owners.load(std::memory_order_acquire) == 1; }

std::byte* bytes_of(Buffer* buffer) noexcept { return buffer->bytes; }

void count_copy() noexcept {
  if (!cache_gone) bump<std::uint64_t>(cache().counters.copies, 1);
}

}  // namespace tapeform::detail

namespace tapeform {

MemoryStats memory_stats() noexcept {
  detail::cache();
  detail::Registry& all = detail::registry();
  const std::lock_guard lock(all.mutex);
  MemoryStats sum = all.ended;
  for (const detail::Counters* c : all.threads) {
    sum.live_bytes += c->live;
    sum.peak_live_bytes += c->peak;
    sum.cached_bytes += c->cached;
    sum.buffers += c->buffers;
    sum.system_allocations += c->system;
    sum.copies += c->copies;
  }
  return sum;
}

void reset_peak_memory() noexcept {
  detail::Counters& mine = detail::cache().counters;
  mine.peak = mine.live.load();
}

void release_cached_memory() noexcept {
  detail::cache().trim(0);
#ifdef __GLIBC__
  malloc_trim(0);  // pages of freed blocks between others that are still in use
#endif
}

}  // namespace tapeform
