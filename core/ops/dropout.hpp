#pragma once
#include <tapeform/core/tensor.hpp>

namespace tapeform {

/// Each element is 0 with probability p and x/(1 − p) otherwise (Srivastava et al., "Dropout", 2014, section 10: scaled in training, so
/// that nothing is to be done after it). Only under a `Tape tape(rng)`: the identity without a tape, under `Tape::no_dropout`, and for
/// p = 0, which draw no number.
///
/// dx = dy/(1 − p) where the element was kept, else 0; p = 1 gives zeros both ways, whatever x holds. What is kept depends on the
/// generator's seed, stream and position and on the element's place alone, never on threads or dtype; it is drawn again for the
/// derivative, not stored.
/// @throws ValueError unless 0 ≤ p ≤ 1, TapeError for p > 0 under a tape without randomness.
Tensor dropout(const Tensor& x, double p);

}  // namespace tapeform
