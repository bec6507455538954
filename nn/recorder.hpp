#pragma once
#include <string>
#include <tapeform/core/array.hpp>
#include <tapeform/nn/module.hpp>
#include <vector>

namespace tapeform::nn {

struct MultiHeadAttention;

namespace detail {
struct AttentionSite {
  const void* module;
  std::string name;
  std::vector<Array> calls;
};

struct AttentionFinder final : PathFields {
  std::vector<AttentionSite> found;
  bool enter(const char* name, const void* self, const void* type) override;
};

/// True when a recorder of this thread wants the weights of `module`.
bool wants_attention(const MultiHeadAttention* module) noexcept;
void tell_attention(const MultiHeadAttention* module, const Array& weights);
}  // namespace detail

struct AttentionRecorderOptions {
  bool keep_all = false;  ///< every call of each module, oldest first; otherwise the last one
};

/// Keeps the attention weights that a model's attention modules compute while it lives, under their paths:
/// `AttentionRecorder recorder(model); model(x); recorder["decoder.layers.1.multihead_attn"]` is [B, H, Tq, Tk], before dropout.
///
/// The model is not changed and its results keep their bits. Calls on this thread are recorded, but not those that a checkpoint makes
/// again; the model must not move while the recorder lives. Without a recorder the modules look at one pointer and go on.
class AttentionRecorder {
 public:
  using Options = AttentionRecorderOptions;

  /// @throws ValueError when the model has no MultiHeadAttention.
  template <class M>
  explicit AttentionRecorder(const M& model, const Options& options = {}) : AttentionRecorder(sites_of(model), options) {}
  ~AttentionRecorder();
  AttentionRecorder(const AttentionRecorder&) = delete;
  AttentionRecorder& operator=(const AttentionRecorder&) = delete;

  /// Paths of the model's attention modules, in the order of its fields.
  std::vector<std::string> names() const;
  /// Weights of the last call of one module: [B, H, Tq, Tk]. @throws ValueError when there is no such module, or no call of it yet.
  const Array& operator[](const std::string& name) const;
  /// Weights of all calls that were kept. @throws ValueError when there is no such module.
  const std::vector<Array>& calls(const std::string& name) const;
  /// Forgets what was recorded.
  void clear();

 private:
  friend bool detail::wants_attention(const MultiHeadAttention* module) noexcept;
  friend void detail::tell_attention(const MultiHeadAttention* module, const Array& weights);

  AttentionRecorder(std::vector<detail::AttentionSite> sites, const Options& options);
  template <class M>
  static std::vector<detail::AttentionSite> sites_of(const M& model) {
    detail::AttentionFinder finder;
    finder.enter("", &model, &tapeform::detail::type_tag<M>);
    walk(model, finder);
    return std::move(finder.found);
  }

  std::vector<detail::AttentionSite> sites_;
  Options options_;
  AttentionRecorder* outer_;
};

}  // namespace tapeform::nn
