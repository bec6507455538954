#pragma once
#include <string>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/pages/panel.hpp>
#include <vector>

namespace tapeform::nn {
struct MultiHeadAttention;
struct TransformerEncoderLayer;
struct TransformerDecoderLayer;
struct Seq2Seq;
struct CausalLM;
}  // namespace tapeform::nn

namespace tapeform::pages {

struct ExplainOptions {
  std::string title = {};                 ///< of the page; a title that says what is explained when empty
  std::vector<std::string> queries = {};  ///< tokens of x, of a model's target; positions are counted when there are none
  std::vector<std::string> keys = {};     ///< tokens of keys and values, of a memory, of a model's source
  Mask mask = {};                         ///< which keys a query may attend to; for a decoder layer causal only when it says so
  Mask memory_mask = {};                  ///< of a decoder layer's attention to the memory
};

/// Every step of one attention as panels with formulas and shapes: queries, keys and values, their projections, scores, scaled scores,
/// mask, weights, each head's output, heads joined, the output. x, q, k, v are of one sentence: [T, E] or [1, T, E]. Dropout is off.
/// Numbers are computed step by step in the module's dtype; the output agrees with the module's to its rounding.
/// @throws ShapeError, DTypeError when inputs or mask do not fit.
std::vector<Panel> explanation(const nn::MultiHeadAttention& attention, const Array& x, const ExplainOptions& options = {});
std::vector<Panel> explanation(const nn::MultiHeadAttention& attention, const Array& q, const Array& k, const Array& v,
                               const ExplainOptions& options = {});

/// A block: what goes in, its attention, what the feed-forward network gets, holds and gives, what comes out.
std::vector<Panel> explanation(const nn::TransformerEncoderLayer& layer, const Array& x, const ExplainOptions& options = {});
std::vector<Panel> explanation(const nn::TransformerDecoderLayer& layer, const Array& x, const Array& memory,
                               const ExplainOptions& options = {});

/// A model on one sentence, src [S] and tgt [T] or [1, …]: embeddings, the matrix of positions, what encoder and decoder get and give,
/// logits; under the choice `part` also every block. Masks are the model's own. @throws ShapeError, ValueError as the model.
std::vector<Panel> explanation(const nn::Seq2Seq& model, const Ids& src, const Ids& tgt, const ExplainOptions& options = {});
/// The same of a language model: ids [T] or [1, T], whose tokens are `queries`.
std::vector<Panel> explanation(const nn::CausalLM& model, const Ids& ids, const ExplainOptions& options = {});

/// The same as one HTML page.
std::string explain(const nn::MultiHeadAttention& attention, const Array& x, const ExplainOptions& options = {});
std::string explain(const nn::MultiHeadAttention& attention, const Array& q, const Array& k, const Array& v,
                    const ExplainOptions& options = {});
std::string explain(const nn::TransformerEncoderLayer& layer, const Array& x, const ExplainOptions& options = {});
std::string explain(const nn::TransformerDecoderLayer& layer, const Array& x, const Array& memory, const ExplainOptions& options = {});
std::string explain(const nn::Seq2Seq& model, const Ids& src, const Ids& tgt, const ExplainOptions& options = {});
std::string explain(const nn::CausalLM& model, const Ids& ids, const ExplainOptions& options = {});

}  // namespace tapeform::pages
