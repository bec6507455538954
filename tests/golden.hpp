#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tapeform/core/array.hpp>
#include <tapeform/core/fields.hpp>
#include <tapeform/core/ids.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <tapeform/core/mask.hpp>
#include <tapeform/core/tape.hpp>
#include <vector>

/// Comparison with the numbers that PyTorch computed: tests/golden holds them and says how they are made.
namespace golden {

/// What is wrong with `ours`: another shape, or the worst entry with both numbers; empty when it agrees. An error is measured against the
/// largest |entry| of `torch`, or against 1 where that is no more than rounding (1e-12).
std::string difference(const tapeform::Array& ours, const tapeform::Array& torch, double tolerance);
/// That error of the worst entry; infinite for another shape and for a NaN.
double error(const tapeform::Array& ours, const tapeform::Array& torch);

/// One case of a golden file, run in one dtype: hands out its inputs on a tape and compares what comes back.
///
/// A tensor agrees when its `difference` is at most 1e-12 in float64, 1e-5 in float32.
class Case {
 public:
  Case(const std::string& file, const std::string& name, tapeform::DType dtype);

  const std::string& name() const noexcept { return name_; }
  tapeform::DType dtype() const noexcept { return dtype_; }
  tapeform::Tape& tape() noexcept { return tape_; }

  bool has(const std::string& key) const { return file_->contains(name_ + "/" + key); }
  /// Input `in/<name>`, watched on the tape; a tensor that holds nothing when the case has no such input.
  tapeform::Tensor x(const std::string& name);
  /// `in/<name>` without a gradient.
  tapeform::Array array(const std::string& name) const;
  tapeform::Ids ids(const std::string& name) const;
  tapeform::Mask allow(const std::string& name) const;
  double option(const std::string& name, double otherwise) const;
  std::vector<int> axes(const std::string& name) const;

  /// Gives a module the parameters of this case. Names and shapes must be exactly torch's.
  template <class M>
  void load(const M& module) {
    load_parameters(tapeform::named_parameters(module));
  }

  /// Compares the first output, runs backward from the upstream gradient of the case, and compares the gradient of every input and
  /// loaded parameter.
  void check(const std::string& output, const tapeform::Tensor& y);
  /// Compares one tensor: `out/weights`, `grad/x`.
  void check_numbers(const std::string& key, const tapeform::Array& ours);
  /// Fails for every output and gradient of the case that was not compared.
  void check_complete() const;
  double error() const noexcept { return error_; }  ///< the largest of what was compared

 private:
  void load_parameters(std::vector<tapeform::NamedParameter> parameters);
  std::vector<std::string> keys() const;

  std::string name_;
  tapeform::DType dtype_;
  const tapeform::io::SafeTensors* file_;
  std::vector<std::pair<std::string, tapeform::Tensor>> watched_;
  std::vector<tapeform::NamedParameter> parameters_;
  std::set<std::string> compared_;
  double error_ = 0;
  tapeform::Tape tape_{tapeform::Tape::no_dropout};
};

/// How the cases are run whose names begin with `prefix` (the longest prefix that fits).
struct Runner {
  std::string prefix;
  std::function<void(Case&)> run;
};

/// Runs every case of a file in one dtype. A case without a runner and a runner without a case are failures. Gives the largest error of
/// each runner's cases, by its prefix.
std::map<std::string, double> run_file(const std::string& file, tapeform::DType dtype, const std::vector<Runner>& runners);

}  // namespace golden
