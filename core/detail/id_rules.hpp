#pragma once
#include <string>
#include <tapeform/core/ids.hpp>

// What ops that take ids say of one that is not there.

namespace tapeform::shapes {

/// Position of the first id outside [0, size); −1 when there is none.
Dim first_outside(const Ids& ids, Dim size);
/// `5 at [2, 0] of ids [4, 3]` for position 6.
std::string described(const Ids& ids, Dim position);

}  // namespace tapeform::shapes
