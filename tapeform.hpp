#pragma once

/// The whole library: `#include <tapeform/tapeform.hpp>`, link `tapeform::tapeform`.

#include <tapeform/core/version.hpp>
