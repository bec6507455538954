#pragma once
#include <cstdint>
#include <span>
#include <tapeform/core/buffer.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/shape.hpp>
#include <vector>

namespace tapeform {

/// What one query may attend to: the keys j < limit, of these the ones with `allowed[j]` where a table restricts them further.
struct MaskRow {
  Dim limit = 0;
  const std::uint8_t* allowed = nullptr;  ///< one byte a key, null when there is no table

  bool sees(Dim key) const noexcept { return key < limit && (!allowed || allowed[key]); }
};

/// Which keys a query may attend to. One type and one meaning everywhere: **true = may attend**. A default-constructed mask hides
/// nothing; `a & b` allows what both allow. Copies share their tables.
///
/// A query that may attend to nothing gets weights, context and gradients of exactly 0. What a hidden key or value holds (1e30,
/// inf, NaN) reaches neither the result of a query that it is hidden from nor a gradient that comes from there.
///
/// Coming from torch: a boolean `attn_mask` of `scaled_dot_product_attention` is `Mask::allow`; a boolean `attn_mask` and a
/// `key_padding_mask` of `nn.MultiheadAttention` mean the opposite (true = hidden), so they are `Mask::block`, and the padding mask
/// [B, Tk] becomes [B, 1, 1, Tk], or better `Mask::valid_lens`. A float mask is a `bias`, an argument of its own. torch's
/// [B·H, Tq, Tk] is [B, H, Tq, Tk] here, and its `is_causal` aligns the first query with the first key when Tq ≠ Tk.
class Mask {
 public:
  Mask() = default;

  /// Keys j < length may be attended. `lengths` [B]: one a sample; [B, Tq]: one a query. Length 0 hides everything.
  /// @throws ShapeError for another rank, ValueError for a negative length (names the sample).
  static Mask valid_lens(Ids lengths);
  /// Query i may attend to the keys j ≤ i + Tk − Tq: the last query sees the last key, so that one new query sees a whole cache.
  static Mask causal();
  /// A table of bools, row-major: true = may attend. `shape` is [Tq, Tk], [B, Tq, Tk] (rank 3 always means this, never heads), or
  /// [B or 1, H or 1, Tq or 1, Tk]. @throws ShapeError for another rank or number of bools.
  static Mask allow(const std::vector<bool>& table, const Shape& shape);
  static Mask allow(std::span<const std::uint8_t> table, const Shape& shape);
  /// The opposite table: true = hidden.
  static Mask block(const std::vector<bool>& table, const Shape& shape);
  static Mask block(std::span<const std::uint8_t> table, const Shape& shape);

  /// Allows what both allow. @throws ShapeError when their batches, heads or times differ.
  friend Mask operator&(const Mask& a, const Mask& b);

  /// False for a mask that hides nothing.
  explicit operator bool() const noexcept { return causal_ || has_lens_ || has_query_lens_ || table_; }

  /// True when there is one valid length a sample, which `lens` tells.
  bool has_lens() const noexcept { return has_lens_; }
  /// The valid lengths [B]; empty when there are none.
  const Ids& lens() const noexcept { return lens_; }
  bool is_causal() const noexcept { return causal_; }

  /// 1 for every key that at least one query of the sample may attend to under some head: [B, Tk].
  Ids visible_keys(Dim B, Dim Tq, Dim Tk) const;
  /// True when some key is hidden from every query of its sample.
  bool hides_keys(Dim B, Dim Tq, Dim Tk) const;

  /// @throws ShapeError unless the mask fits scores [B, H, Tq, Tk] (tells both shapes), ValueError for a length over Tk (names the
  /// sample). `op` stands in front of the text.
  void check(const char* op, Dim B, Dim H, Dim Tq, Dim Tk) const;

  /// What query i of head h of sample b may attend to; for ops, after `check` with the same sizes.
  MaskRow row(Dim b, Dim h, Dim i, Dim Tq, Dim Tk) const noexcept;

 private:
  static Mask of_table(detail::BufferRef bytes, const Shape& shape);
  const std::uint8_t* table_row(Dim b, Dim h, Dim i) const noexcept;
  void check_lens(const char* op, Dim B, Dim H, Dim Tq, Dim Tk) const;
  void join_lens(const Mask& other);
  void join_table(const Mask& other);

  Ids lens_;                 // [B]
  Ids query_lens_;           // [B, Tq]
  detail::BufferRef table_;  // a byte each, 1 = may attend
  Shape table_shape_;        // as given, for errors
  Dim table_sizes_[4] = {};  // [B or 1, H or 1, Tq or 1, Tk]
  bool causal_ = false;
  bool has_lens_ = false;
  bool has_query_lens_ = false;
};

}  // namespace tapeform
