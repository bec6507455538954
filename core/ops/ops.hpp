#pragma once

/// All operations.

#include <tapeform/core/ops/activation.hpp>
#include <tapeform/core/ops/arithmetic.hpp>
#include <tapeform/core/ops/attention.hpp>
#include <tapeform/core/ops/attention_cache.hpp>
#include <tapeform/core/ops/comparison.hpp>
#include <tapeform/core/ops/dropout.hpp>
#include <tapeform/core/ops/einsum.hpp>
#include <tapeform/core/ops/elementwise_loss.hpp>
#include <tapeform/core/ops/embedding.hpp>
#include <tapeform/core/ops/functions.hpp>
#include <tapeform/core/ops/gather.hpp>
#include <tapeform/core/ops/layer_norm.hpp>
#include <tapeform/core/ops/loss.hpp>
#include <tapeform/core/ops/matmul.hpp>
#include <tapeform/core/ops/movement.hpp>
#include <tapeform/core/ops/packing.hpp>
#include <tapeform/core/ops/rearrange.hpp>
#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/core/ops/selection.hpp>
#include <tapeform/core/ops/softmax.hpp>
