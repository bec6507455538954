#pragma once
#include <cstdint>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/nn/module.hpp>

namespace tapeform::nn {

struct EmbeddingOptions {
  std::int64_t padding_id = -1;  ///< this id's row starts as zeros and is never trained; −1: none
};

/// A table with one row for every id, drawn from N(0, 1).
struct Embedding : Module<Embedding> {
  using Options = EmbeddingOptions;

  Parameter weight;  ///< [V, D]

  /// @throws ValueError unless both sizes are at least 1 and `padding_id` is −1 or an id.
  Embedding(Dim num_ids, Dim num_hiddens, Rng& rng, const Options& options = {});
  /// ids [...] → [..., D]. @throws ValueError for an id outside [0, V).
  Tensor forward(const Ids& ids) const;
  /// Draws the table again.
  void reset(Rng& rng);
  void visit(Fields& field) { field("weight", weight); }

 private:
  std::int64_t padding_id_;
};

}  // namespace tapeform::nn
