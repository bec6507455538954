#pragma once
#include <cstdint>
#include <string>
#include <tapeform/nn/seq2seq.hpp>
#include <utility>
#include <vector>

#include "text/vocabularies.hpp"
#include "translate/recipe.hpp"
#include "translate/sources.hpp"

namespace examples::translate {

/// What a run's config file holds: all that was decided before its first update.
struct Config {
  Recipe recipe;
  Sources sources;
  std::uint64_t seed = 1;
  std::string budget;  ///< as given; the plan that it led to is `recipe.updates`
  std::int64_t save_every = 200;
};

/// The folder of a run:
///
/// | file | holds |
/// |---|---|
/// | `config.txt` | every option, one a line |
/// | `subwords.model`, or one of `source` and one of `target` | the vocabulary |
/// | `log.jsonl`, `log.csv` | a line every few updates and one an epoch |
/// | `last.safetensors` | all that the training needs to go on |
/// | `best.safetensors` | the weights with the best validation BLEU, under torch's names |
/// | `average.safetensors` | the mean of several epochs' weights, likewise |
/// | `alignment.json` | the attention head that aligns words best |
/// | `README.txt` | the commands to go on with |
class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  bool has(const std::string& name) const;

  /// @throws UsageError when the folder holds a run already.
  void check_free() const;
  /// Makes the folder. @throws UsageError as check_free, or when it cannot be made.
  void create() const;
  /// @throws UsageError unless the folder holds a run.
  void check() const;

  /// @throws tapeform::IoError.
  void write_config(const Config& config) const;
  /// @throws UsageError naming the file and what is wrong in it.
  Config read_config() const;
  void write_readme() const;

  /// Writes weights alone, under the names of torch.nn. @throws tapeform::IoError.
  void save_weights(const std::string& name, const tapeform::nn::Seq2Seq& model) const;
  /// The model of `name`: a file of weights, or the run's `last` state. @throws UsageError when the file is missing or does not fit.
  tapeform::nn::Seq2Seq load_model(const std::string& name, const Config& config, const text::Vocabularies& vocabularies) const;
  /// The file to translate with when nobody says which: `average`, else `best`, else `last`. @throws UsageError when there is none.
  std::string best_file() const;

 private:
  std::string path_;
};

/// Numbers of the training, line by line, in two formats. Lines are written as they come; a line that cannot be written is told once and
/// the training goes on.
class RunLog {
 public:
  using Row = std::vector<std::pair<std::string, double>>;

  /// Goes on behind the last line of an update up to `done`; what a killed run wrote after it is cut off.
  RunLog(const RunFolder& folder, std::int64_t done);
  /// Columns that are not `columns()` are an error of the program.
  void add(const Row& row);
  static const std::vector<std::string>& columns();

 private:
  void append(const std::string& file, const std::string& line);

  const RunFolder& folder_;
  bool complained_ = false;
};

}  // namespace examples::translate
