#include <tapeform/tapeform.hpp>

#include "catch.hpp"
#include "core/files.hpp"
#include "message.hpp"

using namespace tapeform;

TEST_CASE("checkpoint: a model's weights under torch.nn's names, and one of another size names what differs") {
  const TemporaryFile file("model.safetensors");
  Rng rng(1);
  const nn::CausalLM model(11, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 6});
  io::save_checkpoint(file.path, model);
  std::vector<std::string> names;
  for (const NamedParameter& parameter : nn::named_parameters(model)) names.push_back(parameter.name);
  std::ranges::sort(names);
  CHECK(io::read_safetensors(file.path).names() == names);
  nn::CausalLM other(11, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 6});
  const Ids ids = Ids::rows({{1, 2, 3}});
  CHECK_FALSE(same_bits(other(ids).value(), model(ids).value()));
  io::load_checkpoint(file.path, other);
  CHECK(same_bits(other(ids).value(), model(ids).value()));
  nn::CausalLM deeper(11, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 3, .max_len = 7});
  const std::string text = message<IoError>([&] { io::load_checkpoint(file.path, deeper); });
  CHECK_THAT(text,
             Contains("missing: encoder.layers.2.linear1.bias, ") && Contains("another shape: pos.weight [6, 8] in the file, [7, 8] here"));
}

TEST_CASE("CK-11: tied weights and the file: an embedding that is the output projection too", "[case]") {
  const TemporaryFile file("tied_lm.safetensors");
  Rng rng(1);
  const nn::CausalLMOptions options{.num_hiddens = 8, .num_heads = 2, .num_layers = 1, .max_len = 6};
  const nn::CausalLM model(11, rng, options);
  io::save_checkpoint(file.path, model);
  CHECK_FALSE(io::SafeTensorsReader(file.path).contains("head.weight"));
  nn::CausalLM other(11, rng, options);
  io::load_checkpoint(file.path, other);
  const Ids ids = Ids::rows({{1, 2, 3}});
  const Array before = other(ids).value();
  other.tok.weight.assign(Array::zeros({11, 8}));  // changes the head
  CHECK(same_bits(other(ids).value(), Array::zeros({1, 3, 11})));
  // torch's state_dict has both names.
  std::vector<io::NamedTensor> tensors = io::read_safetensors(file.path).tensors();
  tensors.emplace_back("head.weight", model.tok.weight.value());
  io::write_safetensors(file.path, tensors);
  io::load_checkpoint(file.path, other);
  CHECK(same_bits(other(ids).value(), before));
}
