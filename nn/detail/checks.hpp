#pragma once
#include <cstdint>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/mask.hpp>

namespace tapeform::nn::detail {

/// @throws ValueError unless 0 ≤ p ≤ 1.
double checked_dropout(const char* op, double p);

/// @throws ShapeError unless ids have two axes.
void check_ids(const char* op, const char* name, const Ids& ids);

/// The mask of valid lengths [B]; hides nothing when lens hold nothing. @throws ShapeError unless lens has one axis.
Mask valid_mask(const char* op, const char* name, const Ids& lens);

/// targets [B, T] with `ignore_id` from lens[b] on; as they are when lens hold nothing.
/// @throws ShapeError unless targets have ids' shape.
Ids valid_targets(const char* op, const Ids& targets, const Ids& ids, const Ids& lens, std::int64_t ignore_id);

}  // namespace tapeform::nn::detail
