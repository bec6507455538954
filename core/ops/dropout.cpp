#include <tapeform/core/ops/dropout.hpp>

#include <fmt/format.h>

#include <tapeform/core/error.hpp>
#include <tapeform/core/tape.hpp>

#include "detail/shape_rules.hpp"
#include "kernels/dropout.hpp"

namespace tapeform {

// y = kept ? x/(1 − p) : 0      dx = kept ? dy/(1 − p) : 0, with the same draw
Tensor dropout(const Tensor& x, double p) {
  shapes::filled("dropout", "x", x);
  if (!(p >= 0 && p <= 1)) throw ValueError(fmt::format("dropout: p must be from 0 to 1; got p = {}, x {}", p, x.shape().str()));
  Rng* const rng = Tape::dropout_rng("dropout", p);
  if (!rng) return x;
  const kernels::DropoutDraw draw(*rng, p, x.numel());
  return record("dropout", kernels::dropout(x.value(), draw), wrt(x, [draw](const Array& dy) { return kernels::dropout(dy, draw); }));
}

}  // namespace tapeform
