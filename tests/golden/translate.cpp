// The other side of translate.py: the logits of a run's translator for one sentence and its translation.
//
//   golden_translate RUN WEIGHTS OUT      writes OUT, prints the ids of both, separated by commas
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapeform/tapeform.hpp>

#include "common/command_line.hpp"
#include "translate/alignment.hpp"
#include "translate/run_folder.hpp"

namespace {

using namespace tapeform;
using namespace examples;

int body(int argc, const char* const* argv) {
  if (argc != 4) throw UsageError{"golden_translate RUN WEIGHTS OUT"};
  const translate::RunFolder folder(argv[1]);
  const translate::Config config = folder.read_config();
  const text::Vocabularies vocabularies = text::Vocabularies::load(folder.path());
  const nn::Seq2Seq model = folder.load_model(argv[2], config, vocabularies);
  translate::PiecedPair pair = translate::pieced(vocabularies, "Der kleine Hund schläft heute im Garten .",
                                                 "The little dog sleeps in the garden today .", model.max_len() - 1);
  pair.target.insert(pair.target.begin(), text::bos_id);
  const Ids src(Shape{1, static_cast<Dim>(pair.source.size())}, pair.source),
      tgt(Shape{1, static_cast<Dim>(pair.target.size())}, pair.target);
  io::write_safetensors(argv[3], {{"logits", model(src, Ids(), tgt).value()}});
  fmt::print("{}\n{}\n", fmt::join(pair.source, ","), fmt::join(pair.target, ","));
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return examples::run("golden_translate", body, argc, argv); }
