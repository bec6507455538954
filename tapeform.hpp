#pragma once

/// The whole library: `#include <tapeform/tapeform.hpp>`, link `tapeform::tapeform`.

#include <tapeform/core/array.hpp>
#include <tapeform/core/dtype.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/fields.hpp>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/ops/ops.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/random.hpp>
#include <tapeform/core/shape.hpp>
#include <tapeform/core/tape.hpp>
#include <tapeform/core/tensor.hpp>
#include <tapeform/core/version.hpp>
#include <tapeform/nn/attention.hpp>
#include <tapeform/nn/cast.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/dropout.hpp>
#include <tapeform/nn/embedding.hpp>
#include <tapeform/nn/feed_forward.hpp>
#include <tapeform/nn/generate.hpp>
#include <tapeform/nn/init.hpp>
#include <tapeform/nn/layer_norm.hpp>
#include <tapeform/nn/linear.hpp>
#include <tapeform/nn/module.hpp>
#include <tapeform/nn/positional.hpp>
#include <tapeform/nn/recorder.hpp>
#include <tapeform/nn/seq2seq.hpp>
#include <tapeform/nn/summary.hpp>
#include <tapeform/nn/transformer.hpp>
