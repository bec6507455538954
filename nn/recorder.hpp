#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/array.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/tensor.hpp>
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::nn {

struct MultiHeadAttention;

/// What attends to what.
enum class AttentionKind : std::uint8_t {
  encoder_self,  ///< a TransformerEncoderLayer to its own rows
  decoder_self,  ///< a TransformerDecoderLayer to its own rows, or a layer of CausalLM
  cross,         ///< a TransformerDecoderLayer to the memory
  other,         ///< a MultiHeadAttention that stands elsewhere
};

/// `encoder self-attention`, `decoder self-attention`, `cross-attention`, `attention`.
const char* name(AttentionKind kind) noexcept;

/// An attention module of a model.
struct AttentionPlace {
  std::string name;  ///< its path: `decoder.layers.1.multihead_attn`
  AttentionKind kind;
  Dim layer;  ///< from 0, among the model's modules of this kind
};

/// What an attention module did with its weights P: out = P·v in every head. So ∂y/∂P = (∂y/∂out)·vᵀ, for weights that nothing drops.
struct AttentionHeads {
  Tensor out = {};               ///< all heads' side by side, before the output projection: [B, Tq, E], or packed rows [N, E]
  Array values = {};             ///< the projected v of all heads side by side, [B, Tk, E] or [M, E]
  Ids q_lens = {}, k_lens = {};  ///< [B], of packed rows
};

namespace detail {
struct AttentionSite {
  const void* module;
  AttentionPlace place;
  AttentionHeads heads;  // of the last call
  std::vector<Array> calls;
  std::vector<Array> steps;  // of a decoder with caches, not yet joined
};

struct AttentionFinder final : PathFields {
  std::vector<AttentionSite> found;
  bool enter(const char* name, const void* self, const void* type) override;
  void leave() override;

 private:
  AttentionKind kind(const char* name) const;
  std::vector<const void*> types_;  // of the modules that are being walked, outermost first
};

template <class M>
std::vector<AttentionSite> attention_sites(const M& model) {
  AttentionFinder finder;
  finder.enter("", &model, &tapeform::detail::type_tag<M>);
  walk(model, finder);
  return std::move(finder.found);
}

/// True when a recorder of this thread wants the weights of `module`.
bool wants_attention(const MultiHeadAttention* module) noexcept;
void tell_attention(const MultiHeadAttention* module, const Array& weights);
/// The same for what `AttentionRecorder::heads` gives.
bool wants_heads(const MultiHeadAttention* module) noexcept;
void tell_heads(const MultiHeadAttention* module, const AttentionHeads& heads);

/// What a decoder with caches owns so that recorders hear of it. It calls its modules for a few new positions at a time, on rows that come,
/// go and change places: what they tell while a `Step` lives is [R, H, n, Tk] for n new positions of R rows, and `join` makes one call of
/// all steps. One decoder at a time.
class AttentionSteps {
 public:
  class Step {
   public:
    Step() noexcept;
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    bool outer_;
  };

  AttentionSteps() = default;
  ~AttentionSteps();  // steps that were not joined are forgotten
  AttentionSteps(const AttentionSteps&) = delete;
  AttentionSteps& operator=(const AttentionSteps&) = delete;

  /// True when this thread has a recorder: otherwise there is no need to keep rows for `join`.
  static bool wanted() noexcept;
  /// Sequence s of the call, [S, H, Tq, Tk], was row `rows[s][t]` of step t; what lies after its last step, and what a step did not see
  /// yet, is 0.
  void join(const std::vector<std::vector<Dim>>& rows) const;
};
}  // namespace detail

struct AttentionRecorderOptions {
  bool keep_all = false;    ///< every call of each module, oldest first; otherwise the last one
  bool keep_heads = false;  ///< also what the last call's heads gave, as values of the tape that recorded it
};

/// Keeps the attention weights that a model's attention modules compute while it lives, under their paths:
/// `AttentionRecorder recorder(model); model(x); recorder["decoder.layers.1.multihead_attn"]` is [B, H, Tq, Tk], before dropout.
///
/// The model is not changed and its results keep their bits. Calls on this thread are recorded, but not those that a checkpoint makes
/// again; the model must not move while the recorder lives. What a decoder with caches computes position by position is one call, with a
/// sequence for each one that it gives back; its queries and keys are counted from the first id that the model has read, and beyond a
/// CausalLM's `max_len` a query has weights for the last `max_len` keys alone. Without a recorder the modules look at one pointer and go
/// on.
///
/// `tapeform/pages/attention.hpp` draws what was recorded.
class AttentionRecorder {
 public:
  using Options = AttentionRecorderOptions;

  /// @throws ValueError when the model has no MultiHeadAttention.
  template <class M>
  explicit AttentionRecorder(const M& model, const Options& options = {}) : AttentionRecorder(detail::attention_sites(model), options) {}
  ~AttentionRecorder();
  AttentionRecorder(const AttentionRecorder&) = delete;
  AttentionRecorder& operator=(const AttentionRecorder&) = delete;

  /// The model's attention modules, in the order of its fields.
  std::vector<AttentionPlace> places() const;
  /// Their paths.
  std::vector<std::string> names() const;
  /// Paths of one kind, by layer.
  std::vector<std::string> names(AttentionKind kind) const;
  /// Weights of the last call of one module: [B, H, Tq, Tk]. @throws ValueError when there is no such module, or no call of it yet.
  const Array& operator[](const std::string& name) const;
  /// Weights of all calls that were kept. @throws ValueError when there is no such module.
  const std::vector<Array>& calls(const std::string& name) const;
  /// What the heads of the last call gave. @throws ValueError when there is no such module, no call of it yet but by a decoder with
  /// caches, or nobody asked for `keep_heads`.
  const AttentionHeads& heads(const std::string& name) const;
  /// Forgets what was recorded.
  void clear();

 private:
  friend bool detail::wants_attention(const MultiHeadAttention* module) noexcept;
  friend void detail::tell_attention(const MultiHeadAttention* module, const Array& weights);
  friend bool detail::wants_heads(const MultiHeadAttention* module) noexcept;
  friend void detail::tell_heads(const MultiHeadAttention* module, const AttentionHeads& heads);
  friend class detail::AttentionSteps;

  AttentionRecorder(std::vector<detail::AttentionSite> sites, const Options& options);
  const detail::AttentionSite& site(const std::string& name) const;
  void keep(detail::AttentionSite& site, Array weights) const;

  std::vector<detail::AttentionSite> sites_;
  Options options_;
  AttentionRecorder* outer_;
};

}  // namespace tapeform::nn
