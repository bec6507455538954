#pragma once
#include <span>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>
#include <vector>

namespace tapeform {

struct AttentionOptions;

/// Keys and values of the positions that went by, kept for the queries that follow. What is appended is shared and never copied: every row
/// keeps a list of where its positions stand, and `keep` moves these lists alone. A copy of a cache goes its own way.
class KeyValueCache {
 public:
  bool empty() const noexcept { return held_.empty(); }
  Dim rows() const noexcept { return static_cast<Dim>(places_.size()); }
  /// [N]: how many positions each row holds.
  Ids lengths() const;

  /// Positions more for every row: kv [N, T, 2E], columns k, v in this order as `attention_kv` reads them; or packed rows [Σ lens, 2E], of
  /// which row n gets the next lens[n]. @throws ShapeError, DTypeError when kv does not fit what is there; TapeError when kv is recorded: a
  /// cache keeps no derivatives.
  void append(const Tensor& kv, const Ids& lens = {});
  /// Row i holds from now on what row from[i] held. @throws ShapeError when there is no such row.
  void keep(std::span<const Dim> from);

  /// `attention` of one query a row, which sees all that its row holds: q [N, 1, E] → [N, 1, E]. Of the options it reads heads, scale and
  /// weights: [N, H, 1, longest row], 0 beyond a row's length. A row that holds nothing gives 0.
  /// @throws ValueError when the cache is empty, ShapeError, DTypeError when q does not fit it; TapeError when q is recorded.
  Tensor attend(const Tensor& q, const AttentionOptions& options) const;

 private:
  std::vector<Array> held_;                       // what places point into
  std::vector<std::vector<const void*>> places_;  // [N, length of the row]: k and v of a position, 2E numbers
};

}  // namespace tapeform
