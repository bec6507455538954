#include <fmt/format.h>

#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/optim/averaging.hpp>

#include "translate/commands.hpp"
#include "translate/loaded.hpp"

namespace examples::translate {

using namespace tapeform;

int average_command(int argc, const char* const* argv) {
  CommandLine options("translate average", "Writes the mean of several files of weights of one run.");
  std::string path, out = "average.safetensors";
  std::vector<std::string> files;
  options.add_argument("DIR", path, "folder of the run");
  options.add_arguments("FILE", files, "files of weights, in the folder or elsewhere; two at least");
  options.add("--out", out, "file in the folder for the mean");
  options.parse(argc, argv);
  if (files.size() < 2) throw UsageError{fmt::format("two files of weights at least make a mean; got {}", files.size())};
  const RunFolder folder(path);
  const Config config = folder.read_config();
  const text::Vocabularies vocabularies = text::Vocabularies::load(path);

  nn::Seq2Seq mean = folder.load_model(files.front(), config, vocabularies);
  optim::WeightAverage average(nn::parameters(mean), {.keep = static_cast<std::int64_t>(files.size())});
  for (const std::string& file : files) {
    const nn::Seq2Seq loaded = folder.load_model(file, config, vocabularies);
    mean = loaded;  // a copy: the average follows the parameters that are there
    average.add();
  }
  average.assign_to(nn::parameters(mean));
  folder.save_weights(out, mean);
  fmt::print("{}: mean of {} files\n", folder.file(out), files.size());
  return 0;
}

}  // namespace examples::translate
