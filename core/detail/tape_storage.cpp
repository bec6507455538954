#include <algorithm>
#include <tapeform/core/parameter.hpp>
#include "detail/tape_storage.hpp"

namespace tapeform::detail {

namespace {

#ifdef TAPEFORM_SANITIZE_MEMORY
constexpr std::size_t first_block = 1;  // every closure in a block of its own, so that the sanitizers see its ends
constexpr std::size_t largest_block = 1;
#else
constexpr std::size_t first_block = std::size_t{1} << 14;
constexpr std::size_t largest_block = std::size_t{1} << 20;
#endif
// What a storage that waits for its next tape may hold: one very deep tape should not keep its memory for good.
constexpr std::size_t kept_nodes = std::size_t{1} << 16;
constexpr std::size_t kept_bytes = std::size_t{4} << 20;

struct FreeStorages {
  TapeStorage* head = nullptr;
  ~FreeStorages() {
    while (head) delete std::exchange(head, head->next_free);
  }
};
FreeStorages& free_storages() {
  static thread_local FreeStorages list;
  return list;
}

}  // namespace

PullList::~PullList() {
  while (head) {
    Pull* const pull = std::exchange(head, head->next);
    pull->drop(pull);
  }
}

TapeStorage* TapeStorage::take() {
  FreeStorages& list = free_storages();
  if (!list.head) return new TapeStorage;
  return std::exchange(list.head, list.head->next_free);
}

void TapeStorage::give_back(TapeStorage* storage) noexcept {
  storage->clear();
  FreeStorages& list = free_storages();
  storage->next_free = std::exchange(list.head, storage);
}

void* TapeStorage::allocate(std::size_t bytes, std::size_t alignment) {
  for (;; ++block, used = 0) {
    if (block == blocks.size()) {
      const std::size_t grown = blocks.empty() ? first_block : std::min(blocks.back().size * 2, largest_block);
      const std::size_t size = std::max(bytes + alignment, grown);
      blocks.push_back({std::unique_ptr<std::byte[]>(new std::byte[size]), size});
      used = 0;
    }
    std::byte* const begin = blocks[block].bytes.get();
    const auto free_from = reinterpret_cast<std::uintptr_t>(begin + used);  // what a closure captures may want more than new's 16
    const std::size_t at = used + ((free_from + alignment - 1) & ~(alignment - 1)) - free_from;
    if (at + bytes > blocks[block].size) continue;
    used = at + bytes;
    return begin + at;
  }
}

TapeStorage::Leaf& TapeStorage::find_leaf(const ParameterState* parameter, std::uint64_t tape) {
  if (2 * (leaf_count + 1) > leaves.size()) {
    std::vector<Leaf> old = std::move(leaves);
    leaves = std::vector<Leaf>(std::max<std::size_t>(64, 2 * old.size()));
    leaf_count = 0;
    for (const Leaf& leaf : old)
      if (leaf.tape == tape) find_leaf(leaf.parameter, tape) = leaf;
  }
  const std::size_t mask = leaves.size() - 1;
  std::size_t at = (reinterpret_cast<std::uintptr_t>(parameter) >> 4) * 0x9E3779B97F4A7C15u >> 20;
  for (;; ++at) {
    Leaf& leaf = leaves[at & mask];
    if (leaf.tape == tape && leaf.parameter == parameter) return leaf;
    if (leaf.tape == tape) continue;
    ++leaf_count;
    leaf = {parameter, 0, 0};
    return leaf;
  }
}

void TapeStorage::drop_pulls(Node& node) noexcept {
  for (Pull* pull = std::exchange(node.pulls, nullptr); pull;) {
    Pull* const next = pull->next;
    pull->drop(pull);
    pull = next;
  }
}

void TapeStorage::clear() noexcept {
  for (Node& node : nodes) {
    drop_pulls(node);
    if (node.parameter) release(node.parameter);
  }
  nodes.clear();
  if (nodes.capacity() > kept_nodes) std::vector<Node>().swap(nodes);
  std::size_t kept = 0;
  for (std::size_t bytes = 0; kept < blocks.size() && bytes + blocks[kept].size <= kept_bytes; ++kept) bytes += blocks[kept].size;
#ifdef TAPEFORM_SANITIZE_MEMORY
  kept = 0;
#endif
  blocks.resize(kept);
  block = used = 0;
  leaf_count = 0;
}

}  // namespace tapeform::detail
