#include <tapeform/core/ops/ops.hpp>

#include "catch.hpp"
#include "ops/golden_runners.hpp"

using namespace tapeform;
using golden::Case;
using golden::Runner;

namespace {

Array weights_of(const Case& c, const char* name) { return c.has(std::string("in/") + name) ? c.array(name) : Array(); }

std::int64_t ignored(const Case& c) {
  const double id = c.option("ignore_id", -100);
  return id == -100 ? CrossEntropyOptions{}.ignore_id : static_cast<std::int64_t>(id);
}

/// One runner for each reduction; the case's name says which.
template <class F>
void add(std::vector<Runner>& all, const std::string& prefix, F f) {
  const std::pair<const char*, Reduction> reductions[] = {{"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}};
  for (const auto& [name, reduction] : reductions)
    all.push_back({prefix + name, [f, reduction = reduction](Case& c) { c.check("y", f(c, reduction)); }});
}

/// The same for a loss of x and target.
template <class F>
void add_pair(std::vector<Runner>& all, const std::string& prefix, F f) {
  add(all, prefix, [f](Case& c, Reduction reduction) {
    const Tensor x = c.x("x"), target = c.x("target");
    return f(c, x, target, reduction);
  });
}

void entropies(std::vector<Runner>& all) {
  add(all, "class_weights_", [](Case& c, Reduction reduction) {
    return cross_entropy(c.x("logits"), c.ids("targets"),
                         {.ignore_id = ignored(c),
                          .label_smoothing = c.option("smoothing", 0),
                          .reduction = reduction,
                          .class_weights = weights_of(c, "weights")});
  });
  add(all, "soft_targets_", [](Case& c, Reduction reduction) {
    const Tensor logits = c.x("logits"), targets = c.x("targets");
    return cross_entropy(logits, targets,
                         {.label_smoothing = c.option("smoothing", 0), .reduction = reduction, .class_weights = weights_of(c, "weights")});
  });
  add(all, "nll_", [](Case& c, Reduction reduction) {
    return nll_loss(c.x("x"), c.ids("targets"),
                    {.ignore_id = ignored(c), .class_weights = weights_of(c, "weights"), .reduction = reduction});
  });
}

void pairs(std::vector<Runner>& all) {
  add_pair(all, "mse_", [](Case&, const Tensor& x, const Tensor& t, Reduction r) { return mse_loss(x, t, {.reduction = r}); });
  add_pair(all, "l1_", [](Case&, const Tensor& x, const Tensor& t, Reduction r) { return l1_loss(x, t, {.reduction = r}); });
  add_pair(all, "huber_", [](Case&, const Tensor& x, const Tensor& t, Reduction r) { return huber_loss(x, t, {.reduction = r}); });
  add_pair(all, "smooth_l1_", [](Case&, const Tensor& x, const Tensor& t, Reduction r) { return smooth_l1_loss(x, t, {.reduction = r}); });
  add_pair(all, "bce_", [](Case& c, const Tensor& x, const Tensor& t, Reduction r) {
    return bce_with_logits(x, t, {.pos_weight = weights_of(c, "pos_weight"), .reduction = r});
  });
  add_pair(all, "kl_", [](Case& c, const Tensor& x, const Tensor& t, Reduction r) {
    return kl_div(x, t, {.log_target = c.option("log_target", 0) != 0, .reduction = r});
  });
  all.push_back({"huber_delta", [](Case& c) {
                   const Tensor x = c.x("x"), target = c.x("target");
                   c.check("y", huber_loss(x, target, {.delta = c.option("delta", 1)}));
                 }});
  all.push_back({"smooth_l1_beta", [](Case& c) {
                   const Tensor x = c.x("x"), target = c.x("target");
                   c.check("y", smooth_l1_loss(x, target, {.beta = c.option("beta", 1)}));
                 }});
}

void norms(std::vector<Runner>& all) {
  all.push_back({"layer_norm_", [](Case& c) {
                   const Tensor x = c.x("x"), weight = c.x("weight"), bias = c.x("bias");
                   c.check("y", layer_norm(x, weight, bias, {.eps = c.option("eps", 0), .axes = static_cast<int>(c.option("axes", 1))}));
                 }});
  all.push_back({"rms_norm_", [](Case& c) {
                   const Tensor x = c.x("x"), weight = c.x("weight");
                   c.check("y", rms_norm(x, weight, {.eps = c.option("eps", 0), .axes = static_cast<int>(c.option("axes", 1))}));
                 }});
}

}  // namespace

std::vector<Runner> golden::loss_runners() {
  std::vector<Runner> all;
  entropies(all);
  pairs(all);
  norms(all);
  return all;
}

TEST_CASE("golden: losses and norms agree with PyTorch in float64, forward and backward") {
  golden::run_file("losses", DType::float64, golden::loss_runners());
}
TEST_CASE("golden: losses and norms agree with PyTorch in float32, forward and backward") {
  golden::run_file("losses", DType::float32, golden::loss_runners());
}
