#include "golden.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tapeform/core/error.hpp>

#include "catch.hpp"

using namespace tapeform;

namespace golden {
namespace {

const io::SafeTensors& open(const std::string& file) {
  static std::map<std::string, io::SafeTensors> files;
  const auto found = files.find(file);
  if (found != files.end()) return found->second;
  return files.emplace(file, io::read_safetensors(fmt::format("{}/golden/{}.safetensors", TAPEFORM_TESTS_DIR, file))).first->second;
}

double allowed(DType dtype) { return dtype == DType::float64 ? 1e-12 : 1e-5; }

std::string index_of(std::size_t position, const Shape& shape) {
  std::string text = "]";
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const auto size = static_cast<std::size_t>(shape[axis]);
    text = (axis > 0 ? ", " : "") + std::to_string(position % size) + text;
    position /= size;
  }
  return "[" + text;
}

/// The first part of every key, each once.
std::vector<std::string> cases_of(const io::SafeTensors& file) {
  std::vector<std::string> cases;
  for (const std::string& key : file.names()) {
    const std::string name = key.substr(0, key.find('/'));
    if (cases.empty() || cases.back() != name) cases.push_back(name);  // names come sorted
  }
  return cases;
}

struct Worst {
  std::size_t at = 0;
  double ours = 0, torch = 0, largest = 0, error = 0;
};

Worst worst_of(const Array& ours, const Array& torch) {
  const std::vector<double> a = ours.to_vector(), b = torch.to_vector();
  Worst worst;
  double error = -1;
  for (std::size_t i = 0; i < b.size(); ++i) {
    worst.largest = std::max(worst.largest, std::abs(b[i]));
    const double e = std::abs(a[i] - b[i]);
    if (!(e <= error)) error = e, worst.at = i;  // NaN counts as the worst, and stays
    if (std::isnan(e)) break;
  }
  if (b.empty()) return worst;
  worst.ours = a[worst.at], worst.torch = b[worst.at];
  worst.error = error / (worst.largest > 1e-12 ? worst.largest : 1.0);
  return worst;
}

}  // namespace

double error(const Array& ours, const Array& torch) {
  if (!ours || ours.shape() != torch.shape()) return std::numeric_limits<double>::infinity();
  const double error = worst_of(ours, torch).error;
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

std::string difference(const Array& ours, const Array& torch, double tolerance) {
  if (!ours) return "holds nothing";
  if (ours.shape() != torch.shape()) return fmt::format("has shape {}, torch {}", ours.shape().str(), torch.shape().str());
  const Worst worst = worst_of(ours, torch);
  if (worst.error <= tolerance) return {};
  return fmt::format("at {}: ours {:.17g}, torch {:.17g}; that is {:.2g} of the largest entry, {:.3g}; allowed {:.0e}",
                     index_of(worst.at, torch.shape()), worst.ours, worst.torch, worst.error, worst.largest, tolerance);
}

Case::Case(const std::string& file, const std::string& name, DType dtype) : name_(name), dtype_(dtype), file_(&open(file)) {}

Array Case::array(const std::string& name) const { return file_->array(name_ + "/in/" + name).cast(dtype_); }

Tensor Case::x(const std::string& name) {
  if (!has("in/" + name)) return {};
  const Tensor x = tape_.watch(array(name));
  watched_.emplace_back(name, x);
  return x;
}

Ids Case::ids(const std::string& name) const { return file_->ids(name_ + "/in/" + name); }

Mask Case::allow(const std::string& name) const {
  const Ids table = ids(name);
  std::vector<bool> bools;
  for (const std::int64_t value : table.values()) bools.push_back(value != 0);
  return Mask::allow(bools, table.shape());
}

double Case::option(const std::string& name, double otherwise) const {
  return has("in/" + name) ? file_->array(name_ + "/in/" + name).item() : otherwise;
}

std::vector<int> Case::axes(const std::string& name) const {
  std::vector<int> axes;
  for (const std::int64_t axis : ids(name).values()) axes.push_back(static_cast<int>(axis));
  return axes;
}

std::vector<std::string> Case::keys() const {
  std::vector<std::string> keys;
  for (const std::string& key : file_->names())
    if (key.starts_with(name_ + "/")) keys.push_back(key.substr(name_.size() + 1));
  return keys;
}

void Case::load_parameters(std::vector<NamedParameter> parameters) {
  std::vector<std::string> ours, torch;
  for (const NamedParameter& parameter : parameters) ours.push_back(parameter.name);
  for (const std::string& key : keys())
    if (key.starts_with("param/")) torch.push_back(key.substr(6));
  std::sort(ours.begin(), ours.end());
  INFO("parameter names");
  REQUIRE(ours == torch);
  for (const NamedParameter& parameter : parameters) {
    const Array& value = file_->array(name_ + "/param/" + parameter.name);
    INFO(parameter.name << ": ours " << parameter.ref.shape().str() << ", torch " << value.shape().str());
    REQUIRE(parameter.ref.shape() == value.shape());
    parameter.ref.value() = value.cast(dtype_);
  }
  parameters_ = std::move(parameters);
}

void Case::check(const std::string& output, const Tensor& y) {
  check_numbers("out/" + output, y.value());
  if (y.rank() == 0) {
    tape_.backward(y);
  } else {
    tape_.backward(y, file_->array(name_ + "/dout").cast(dtype_));
  }
  for (const auto& [name, x] : watched_) check_numbers("grad/" + name, tape_.grad(x));
  for (const NamedParameter& parameter : parameters_) check_numbers("grad/" + parameter.name, parameter.ref.grad());
}

void Case::check_numbers(const std::string& key, const Array& ours) {
  compared_.insert(key);
  error_ = std::max(error_, golden::error(ours, file_->array(name_ + "/" + key)));
  const std::string wrong = ours.dtype() == dtype_ || !ours ? difference(ours, file_->array(name_ + "/" + key), allowed(dtype_))
                                                            : std::string("is ") + tapeform::name(ours.dtype());
  INFO(key << " " << wrong);
  CHECK(wrong.empty());
}

void Case::check_complete() const {
  for (const std::string& key : keys()) {
    if (!key.starts_with("out/") && !key.starts_with("grad/")) continue;
    INFO(key << " is compared");
    CHECK(compared_.contains(key));
  }
}

std::map<std::string, double> run_file(const std::string& file, DType dtype, const std::vector<Runner>& runners) {
  std::map<std::string, double> errors;
  std::set<const Runner*> used;
  for (const std::string& name : cases_of(open(file))) {
    const Runner* best = nullptr;
    for (const Runner& runner : runners)
      if (name.starts_with(runner.prefix) && (!best || runner.prefix.size() > best->prefix.size())) best = &runner;
    INFO(file << "/" << name << " in " << tapeform::name(dtype));
    if (!best) {
      FAIL_CHECK("no test runs this case");
      continue;
    }
    used.insert(best);
    Case c(file, name, dtype);
    try {
      best->run(c);
      c.check_complete();
      errors[best->prefix] = std::max(errors[best->prefix], c.error());
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
  }
  for (const Runner& runner : runners) {
    INFO("the runner of " << runner.prefix << " has a case in " << file);
    CHECK(used.contains(&runner));
  }
  return errors;
}

}  // namespace golden
