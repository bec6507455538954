#pragma once
#include <vector>

#include "golden.hpp"

/// How the cases of each golden file of ops are run: for the tests that compare them, and for the table of ops.
namespace golden {

std::vector<Runner> op_runners();
std::vector<Runner> attention_runners();
std::vector<Runner> movement_runners();
std::vector<Runner> reduction_runners();
std::vector<Runner> pointwise_runners();
std::vector<Runner> loss_runners();
std::vector<Runner> selection_runners();

}  // namespace golden
