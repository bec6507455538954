#include <fmt/format.h>

#include <algorithm>
#include <tapeform/core/error.hpp>
#include <tapeform/core/gradcheck.hpp>

namespace tapeform {

static std::string place(const std::string& path, const std::vector<Dim>& index, Dim direction) {
  return direction < 0 ? fmt::format("{} [{}]", path, fmt::join(index, ", ")) : fmt::format("{} along direction {}", path, direction);
}

const GradcheckEntry& GradcheckReport::worst() const {
  if (tensors.empty()) throw ValueError("gradcheck: nothing was checked: no input and no trainable parameter has an element");
  return *std::ranges::max_element(tensors, {}, &GradcheckEntry::error);
}

std::string GradcheckEntry::str() const {
  return fmt::format("{}: analytic {:.17g}, numeric {:.17g}, error {:.3g}", place(path, index, direction), analytic, numeric, error);
}

std::string GradcheckReport::str() const {
  std::string text = "gradcheck";
  if (!ops.empty()) text += fmt::format(" of {}", fmt::join(ops, ", "));
  if (tensors.empty() && kinks.empty()) return text + ": nothing to check";
  if (!tensors.empty()) {
    text += fmt::format(": worst of {} entries: {}", checked, worst().str());
  }
  if (kinks.empty()) return text;
  const GradcheckKink& kink = kinks.front();
  return text + fmt::format(
                    "\n{} at a kink, where a difference means nothing: {}: left {:.6g}, right {:.6g}, analytic {:.6g}. Move the "
                    "input, or skip kinks",
                    kinks.size() == 1 ? std::string("1 entry is") : fmt::format("{} entries are", kinks.size()),
                    place(kink.path, kink.index, kink.direction), kink.left, kink.right, kink.analytic);
}

}  // namespace tapeform
