#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tapeform/core/tape.hpp>
#include <vector>

namespace tapeform::detail {

/// One op, parameter or watched tensor of a tape.
struct Node {
  const char* op = nullptr;
  Pull* pulls = nullptr;
  ParameterState* parameter = nullptr;  // retained; its gradient is the node's
  Array grad;
  Shape shape;
  DType dtype = DType::float32;
  bool watched = false;
};

/// What a tape is made of, kept from tape to tape of one thread so that a steady loop allocates nothing: the nodes, the blocks that
/// closures live in, and a table from parameter to leaf, so that each has one leaf a tape.
struct TapeStorage {
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size;
  };
  struct Leaf {
    const ParameterState* parameter = nullptr;
    std::uint64_t tape = 0;
    std::uint32_t node = 0;
  };

  std::vector<Node> nodes;
  std::vector<Block> blocks;
  std::size_t block = 0, used = 0;
  std::vector<Leaf> leaves;  // open addressing; entries of other tapes count as free
  std::size_t leaf_count = 0;
  TapeStorage* next_free = nullptr;

  void* allocate(std::size_t bytes, std::size_t alignment);
  Leaf& find_leaf(const ParameterState* parameter, std::uint64_t tape);
  void drop_pulls(Node& node) noexcept;
  void clear() noexcept;

  static TapeStorage* take();
  static void give_back(TapeStorage* storage) noexcept;
};

}  // namespace tapeform::detail
