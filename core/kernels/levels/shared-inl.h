// What the kernels of this folder share, of one level. No guard: each of these has its own.

#include "kernels/levels/dropout-inl.h"
#include "kernels/levels/gelu-inl.h"
#include "kernels/levels/math-inl.h"
#include "kernels/levels/panel-inl.h"
#include "kernels/levels/rows-inl.h"
#include "kernels/levels/sigmoid-inl.h"
#include "kernels/levels/simd-inl.h"
