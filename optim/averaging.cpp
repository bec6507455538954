#include <tapeform/optim/averaging.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tapeform/core/error.hpp>
#include <tapeform/core/update.hpp>

namespace tapeform::optim {
namespace {

std::vector<KeptWeight> kept_weights(std::vector<ParameterGroup> groups, const char* owner) {
  detail::check_groups(groups, owner);
  std::vector<KeptWeight> weights;
  for (NamedParameter& parameter : groups.front().parameters) weights.push_back({std::move(parameter.name), std::move(parameter.ref)});
  return weights;
}

void check_fits(const char* owner, const std::string& name, const Array& kept, const Array& weight) {
  if (kept.shape() != weight.shape())
    throw ShapeError(fmt::format("{}: a weight must have the shape that is kept; got '{}' {}, kept {}", owner, name, weight.shape().str(),
                                 kept.shape().str()));
  if (kept.dtype() != weight.dtype())
    throw DTypeError(fmt::format("{}: a weight must have the dtype that is kept; got '{}' {}, kept {}", owner, name,
                                 tapeform::name(weight.dtype()), tapeform::name(kept.dtype())));
}

/// Before `averages`, one for each of `weights`, become the values of `parameters`.
void check_assignable(const char* owner, const std::vector<KeptWeight>& weights, const std::vector<Array>& averages,
                      const std::vector<ParameterRef>& parameters) {
  if (parameters.size() != weights.size())
    throw ValueError(fmt::format("{}: there must be a parameter for each average; got {} parameters, {} averages", owner, parameters.size(),
                                 weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i) check_fits(owner, weights[i].name, averages[i], parameters[i].value());
}

}  // namespace

WeightEma::WeightEma(std::vector<ParameterGroup> groups, const EmaOptions& options)
    : options_(options), averages_(kept_weights(std::move(groups), "WeightEma")) {
  detail::check_option("WeightEma", "decay", options.decay, 1);
}

void WeightEma::update() {
  for (const KeptWeight& average : averages_) {
    detail::check_not_orphan(average.parameter, average.name, "WeightEma");
    if (average.value) check_fits("WeightEma", average.name, average.value, average.parameter.value());
  }
  for (KeptWeight& average : averages_) {
    if (average.value) {
      blend_in_place(average.value, average.parameter.value(), 1 - options_.decay);
    } else {
      average.value = average.parameter.value();
    }
  }
}

void WeightEma::assign_to(const std::vector<ParameterRef>& parameters) const {
  std::vector<Array> values;
  for (const KeptWeight& average : averages_) {
    if (!average.value) throw ValueError("WeightEma: there is no average before the first update(); got none");
    values.push_back(average.value);
  }
  check_assignable("WeightEma", averages_, values, parameters);
  for (std::size_t i = 0; i < values.size(); ++i) parameters[i].value() = values[i];
}

void WeightEma::state(StateFields& field) {
  for (KeptWeight& average : averages_) {
    detail::check_not_orphan(average.parameter, average.name, "WeightEma");
    field(average.name, average.value, average.parameter.value());
  }
}

WeightAverage::WeightAverage(std::vector<ParameterGroup> groups, const WeightAverageOptions& options)
    : options_(options), weights_(kept_weights(std::move(groups), "WeightAverage")) {
  if (options.keep < 1) throw ValueError(fmt::format("WeightAverage: keep must be at least 1; got {}", options.keep));
  sets_.resize(static_cast<std::size_t>(options.keep));
  for (Set& set : sets_) set.values.resize(weights_.size());
}

void WeightAverage::check(bool scored) const {
  for (const KeptWeight& weight : weights_) detail::check_not_orphan(weight.parameter, weight.name, "WeightAverage");
  if (added_ > 0 && scored != scored_)
    throw ValueError(fmt::format("WeightAverage: either all sets of weights have a score or none has; got one {} a score after {} {}",
                                 scored ? "with" : "without", added_, scored_ ? "with one" : "without one"));
}

void WeightAverage::put(Set& place, double score) {
  place.number = ++added_;
  place.score = score;
  for (std::size_t i = 0; i < weights_.size(); ++i) place.values[i] = weights_[i].parameter.value();
}

void WeightAverage::add() {
  check(false);
  scored_ = false;
  put(*std::ranges::min_element(sets_, {}, &Set::number), 0);  // a free place, or the oldest
}

bool WeightAverage::add(double score) {
  check(true);
  if (std::isnan(score)) return false;
  const auto room = std::ranges::find(sets_, 0, &Set::number);
  if (room == sets_.end()) {
    const auto worst =
        options_.maximize ? std::ranges::min_element(sets_, {}, &Set::score) : std::ranges::max_element(sets_, {}, &Set::score);
    if (options_.maximize ? score <= worst->score : score >= worst->score) return false;
    put(*worst, score);
    return true;
  }
  scored_ = true;
  put(*room, score);
  return true;
}

std::vector<const WeightAverage::Set*> WeightAverage::in_order() const {
  std::vector<const Set*> sets;
  for (const Set& set : sets_)
    if (set.number > 0) sets.push_back(&set);
  std::ranges::sort(sets, {}, &Set::number);
  return sets;
}

std::int64_t WeightAverage::count() const noexcept {
  return std::ranges::count_if(sets_, [](const Set& set) { return set.number > 0; });
}

std::vector<double> WeightAverage::scores() const {
  std::vector<double> scores;
  for (const Set* const set : in_order())
    if (scored_) scores.push_back(set->score);
  return scores;
}

void WeightAverage::assign_to(const std::vector<ParameterRef>& parameters) const {
  const std::vector<const Set*> sets = in_order();
  if (sets.empty()) throw ValueError("WeightAverage: there is no average before the first add(); got none");
  std::vector<Array> means;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    Array mean = sets[0]->values[i];
    for (std::size_t k = 1; k < sets.size(); ++k) {
      check_fits("WeightAverage", weights_[i].name, mean, sets[k]->values[i]);
      blend_in_place(mean, sets[k]->values[i], 1 / static_cast<double>(k + 1));
    }
    means.push_back(std::move(mean));
  }
  check_assignable("WeightAverage", weights_, means, parameters);
  for (std::size_t i = 0; i < means.size(); ++i) parameters[i].value() = means[i];
}

void WeightAverage::state(StateFields& field) {
  field("added", added_);
  field("scored", scored_);
  for (std::size_t k = 0; k < sets_.size(); ++k) {
    const std::string prefix = std::to_string(k) + '.';
    field(prefix + "number", sets_[k].number);
    field(prefix + "score", sets_[k].score);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      detail::check_not_orphan(weights_[i].parameter, weights_[i].name, "WeightAverage");
      field(prefix + "weights." + weights_[i].name, sets_[k].values[i], weights_[i].parameter.value());
    }
  }
}

}  // namespace tapeform::optim
