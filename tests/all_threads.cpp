#include <tapeform/core/parallel.hpp>

// Tests that ask for more threads than the machine has processors get them.
[[maybe_unused]] static const bool all_threads = (tapeform::detail::set_processors(1024), true);
