#include <tapeform/pages/alignment.hpp>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>

#include "detail/text.hpp"

namespace tapeform::pages {

Array soft_alignment(const AttentionMap& map, const AlignmentOptions& options) {
  const Shape& shape = map.weights.shape();
  if (shape.rank() != 3 || shape[0] == 0) throw ShapeError(fmt::format("alignment: weights must be [H, Tq, Tk]; got {}", shape.str()));
  const Dim heads = shape[0];
  if (options.head && (*options.head < 0 || *options.head >= heads))
    throw ValueError(fmt::format("alignment: there is no head {}; got weights {}", *options.head, shape.str()));
  const Dim begin = options.head.value_or(0), end = options.head ? begin + 1 : heads;
  const Array chosen = map.weights.rows(begin, end).cast(DType::float64);
  Array mean = Array::zeros({shape[1], shape[2]}, DType::float64);
  double* const to = mean.mutable_data<double>();
  const double* const from = chosen.data<double>();
  const Dim size = mean.numel();
  for (Dim i = 0; i < (end - begin) * size; ++i) to[i % size] += from[i] / static_cast<double>(end - begin);
  return mean;
}

Alignment hard_alignment(const AttentionMap& map, const AlignmentOptions& options) {
  if (!(options.threshold >= 0 && options.threshold <= 1))
    throw ValueError(fmt::format("alignment: threshold must be from 0 to 1; got {}", options.threshold));
  const Array soft = soft_alignment(map, options);
  const double* const weights = soft.data<double>();
  const Dim queries = soft.dim(0), keys = soft.dim(1);
  Alignment links;
  for (Dim i = 0; i < queries; ++i) {
    Dim best = -1;
    double most = 0;
    for (Dim j = 0; j < keys; ++j) {
      const double weight = weights[i * keys + j];
      if (options.threshold > 0 && weight >= options.threshold) links.emplace_back(j, i);
      if (!(weight > most)) continue;
      best = j;
      most = weight;
    }
    if (options.threshold == 0 && best >= 0) links.emplace_back(best, i);
  }
  return links;
}

std::string pharaoh(const Alignment& alignment) {
  std::string line;
  for (const auto& [key, query] : alignment) line += fmt::format("{}{}-{}", line.empty() ? "" : " ", key, query);
  return line;
}

std::string alignment_table(const AttentionMap& map, const AlignmentOptions& options) {
  const Array soft = soft_alignment(map, options);
  if (soft.dim(0) != static_cast<Dim>(map.queries.size()) || soft.dim(1) != static_cast<Dim>(map.keys.size()))
    throw ShapeError(fmt::format("alignment: one token for every row and column; got weights {}, {} and {} tokens",
                                 map.weights.shape().str(), map.queries.size(), map.keys.size()));
  const double* weight = soft.data<double>();
  std::string table;
  for (const std::string& key : map.keys) table += '\t' + detail::visible(key);
  table += '\n';
  for (const std::string& query : map.queries) {
    table += detail::visible(query);
    for (std::size_t j = 0; j < map.keys.size(); ++j) table += fmt::format("\t{:.6g}", *weight++);
    table += '\n';
  }
  return table;
}

}  // namespace tapeform::pages
