// The other side of parity.py: trains from PyTorch's weights on PyTorch's windows, and writes the losses down.
//
//   golden_parity FOLDER DTYPE UPDATES RESULT [VARIANT]
#include "parity.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

using namespace tapeform;

namespace {

parity::Recipe recipe_of(const io::SafeTensors& run) {
  const auto whole = [&run](const char* name) { return static_cast<Dim>(run.array(name).item()); };
  return {.vocabulary = whole("vocabulary"),
          .layers = whole("layers"),
          .heads = whole("heads"),
          .width = whole("width"),
          .context = whole("context"),
          .updates = whole("updates"),
          .warmup = whole("warmup")};
}

void train(const std::string& folder, const std::string& dtype_name, std::int64_t updates, const std::string& result,
           const std::string& variant) {
  const DType dtype = dtype_name == "float64" ? DType::float64 : DType::float32;
  const io::SafeTensors run = io::read_safetensors(folder + "/run.safetensors");
  const parity::Recipe recipe = parity::variant_of(recipe_of(run), variant);
  nn::CausalLM model = parity::make_model(recipe);
  nn::cast(model, dtype);
  io::load_checkpoint(folder + "/weights." + dtype_name + ".safetensors", model);
  const std::vector<double> losses = parity::train(recipe, model, run.ids("windows"), updates);
  const double validation = parity::validation(model, run.ids("valid"));
  io::write_safetensors(result, {{"losses", Array::of({static_cast<Dim>(losses.size())}, losses)},
                                 {"validation", Array::full({}, validation, DType::float64)}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("golden_parity FOLDER DTYPE UPDATES RESULT [VARIANT]\n", stderr);
    return 2;
  }
  try {
    train(argv[1], argv[2], std::atoll(argv[3]), argv[4], argc > 5 ? argv[5] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_parity: %s\n", error.what());
    return 1;
  }
}
