#pragma once
#include <array>
#include <iostream>
#include <string>
#include <tapeform/tapeform.hpp>
#include <utility>
#include <vector>

/// What the blocks of docs/from-pytorch.md and docs/beyond-pytorch.md take as given: each gets its own.
struct Given {
  tapeform::Rng rng{1};
  tapeform::Array a = tapeform::normal({3, 4}, 0, 1, rng), b = tapeform::normal({3, 4}, 0, 1, rng),
                  x = tapeform::normal({2, 5, 8}, 0, 1, rng);
  tapeform::Ids ids = tapeform::Ids::rows({{1, 4, 7, 10, 2}, {3, 6, 9, 0, 0}}),
                targets = tapeform::Ids::rows({{4, 7, 10, 2, 5}, {6, 9, 1, 0, 0}});
  tapeform::Ids lens{5, 3};
};
