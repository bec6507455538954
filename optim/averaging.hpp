#pragma once
#include <cstdint>
#include <tapeform/optim/optimizer.hpp>
#include <vector>

namespace tapeform::optim {

/// A parameter and what is kept of it beside its value.
struct KeptWeight {
  std::string name;
  ParameterRef parameter;
  Array value = {};  ///< holds nothing before the first update
};

struct EmaOptions {
  double decay = 0.999;  ///< what is left of the average at an update
};

/// The exponential moving average of a model's weights: average ← average + (1 − decay)(weight − average), which begins as the weights of
/// the first update. Evaluate a copy of the model with it:
///
///     adamw.step();
///     ema.update();
///     …
///     Model averaged = model;
///     ema.assign_to(nn::parameters(averaged));
///
/// Source: Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", 1992; with a decay: Szegedy et al., "Rethinking
/// the Inception Architecture for Computer Vision", 2016, section 8.
class WeightEma {
 public:
  using Options = EmaOptions;

  /// @throws ValueError unless 0 ≤ decay < 1, or when a parameter is gone.
  explicit WeightEma(const std::vector<ParameterRef>& parameters, const EmaOptions& options = {})
      : WeightEma(detail::one_group(parameters), options) {}
  explicit WeightEma(const std::vector<NamedParameter>& parameters, const EmaOptions& options = {})
      : WeightEma(detail::one_group(parameters), options) {}

  /// Takes the weights as they are now into the average; after `step()`.
  /// @throws ValueError when a parameter's module is gone, ShapeError, DTypeError when a weight has changed; before anything changes.
  void update();
  /// Gives these parameters, in the order of those that the average is of, the averages as their values.
  /// @throws ValueError before the first update or when there are more or fewer, ShapeError, DTypeError when one does not fit; before
  /// anything changes.
  void assign_to(const std::vector<ParameterRef>& parameters) const;

  const std::vector<KeptWeight>& averages() const noexcept { return averages_; }
  /// The averages, by the names of the parameters.
  void state(StateFields& field);

 private:
  WeightEma(std::vector<ParameterGroup> groups, const EmaOptions& options);

  EmaOptions options_;
  std::vector<KeptWeight> averages_;
};

struct WeightAverageOptions {
  std::int64_t keep = 5;  ///< how many sets of weights
  bool maximize = false;  ///< higher scores are better
};

/// The mean of a model's weights at several times: the last ones, or those with the best scores.
///
///     average.add();                      // now and then; the oldest goes when there are more than `keep`
///     average.add(validation_loss);       // or: the worst goes
///     average.assign_to(nn::parameters(averaged_model));
///
/// A set shares the numbers of the weights until the next update writes new ones: it costs a model's memory.
/// Source: Vaswani et al., "Attention Is All You Need", 2017, section 6.1, which averages the last 5 or 20 checkpoints.
class WeightAverage {
 public:
  using Options = WeightAverageOptions;

  /// @throws ValueError unless keep ≥ 1, or when a parameter is gone.
  explicit WeightAverage(const std::vector<ParameterRef>& parameters, const WeightAverageOptions& options = {})
      : WeightAverage(detail::one_group(parameters), options) {}
  explicit WeightAverage(const std::vector<NamedParameter>& parameters, const WeightAverageOptions& options = {})
      : WeightAverage(detail::one_group(parameters), options) {}

  /// Keeps the weights as they are now, in place of the oldest.
  /// @throws ValueError when a parameter's module is gone, or another set has a score.
  void add();
  /// Keeps the weights as they are now if there is room, or if they are better than the worst, in whose place they go; NaN is never kept.
  /// @return whether they are kept. @throws ValueError when a parameter's module is gone, or another set has no score.
  bool add(double score);

  /// How many sets are kept now.
  std::int64_t count() const noexcept;
  /// The scores of the sets that are kept, in the order in which they came.
  std::vector<double> scores() const;
  /// Gives these parameters, in the order of those that the average is of, the mean of the sets as their values.
  /// @throws ValueError when nothing is kept or there are more or fewer, ShapeError, DTypeError when one does not fit; before anything
  /// changes.
  void assign_to(const std::vector<ParameterRef>& parameters) const;

  /// Every set, with its score and the number of its `add`.
  void state(StateFields& field);

 private:
  struct Set {
    std::int64_t number = 0;  // counts from 1; 0: the place is free
    double score = 0;
    std::vector<Array> values;
  };

  WeightAverage(std::vector<ParameterGroup> groups, const WeightAverageOptions& options);
  void check(bool scored) const;
  void put(Set& place, double score);
  std::vector<const Set*> in_order() const;

  WeightAverageOptions options_;
  std::vector<KeptWeight> weights_;  // whose `value` holds nothing
  std::vector<Set> sets_;
  std::int64_t added_ = 0;
  bool scored_ = false;
};

}  // namespace tapeform::optim
