#include "detail/checks.hpp"
#include <algorithm>
#include <fmt/format.h>
#include <tapeform/core/error.hpp>

namespace tapeform::nn::detail {

double checked_dropout(const char* op, double p) {
  if (!(p >= 0.0 && p <= 1.0)) throw ValueError(fmt::format("{}: dropout must be a probability between 0 and 1; got {}", op, p));
  return p;
}

void check_ids(const char* op, const char* name, const Ids& ids) {
  if (ids.rank() != 2) throw ShapeError(fmt::format("{}: {} must be ids [B, T]; got {} {}", op, name, name, ids.shape().str()));
}

Mask valid_mask(const char* op, const char* name, const Ids& lens) {
  if (lens.numel() == 0) return {};
  if (lens.rank() != 1) throw ShapeError(fmt::format("{}: {} must be [B]; got {} {}", op, name, name, lens.shape().str()));
  return Mask::valid_lens(lens);
}

Ids valid_targets(const char* op, const Ids& targets, const Ids& ids, const Ids& lens, std::int64_t ignore_id) {
  if (targets.shape() != ids.shape())
    throw ShapeError(fmt::format("{}: targets must have the shape of the ids that they follow; got ids {}, targets {}", op,
                                 ids.shape().str(), targets.shape().str()));
  if (lens.numel() == 0) return targets;
  Ids valid = targets;
  valid.write([lens = lens, ignore_id, time = targets.dim(1)](std::span<std::int64_t> values) {
    for (Dim b = 0; b < lens.numel(); ++b) std::fill(values.begin() + b * time + lens[b], values.begin() + (b + 1) * time, ignore_id);
  });
  return valid;
}

}  // namespace tapeform::nn::detail
