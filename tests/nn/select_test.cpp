#include <tapeform/core/ops/reduce.hpp>
#include <tapeform/nn/causal_lm.hpp>
#include <tapeform/nn/select.hpp>
#include <tapeform/optim/adamw.hpp>

#include "catch.hpp"
#include "nn/common.hpp"

using namespace tapeform;

namespace {

nn::CausalLM small() {
  Rng rng(1);
  return nn::CausalLM(9, rng, {.num_hiddens = 8, .num_heads = 2, .num_layers = 2, .max_len = 6});
}

std::vector<std::string> chosen(const nn::CausalLM& model, std::string_view pattern) {
  std::vector<std::string> names;
  for (const auto& parameter : nn::named_parameters(model, pattern)) names.push_back(parameter.name);
  return names;
}

std::vector<std::string> trainable(const nn::CausalLM& model) {
  std::vector<std::string> names;
  for (const auto& parameter : nn::named_parameters(model))
    if (parameter.ref.trainable()) names.push_back(parameter.name);
  return names;
}

}  // namespace

TEST_CASE("select: patterns fit whole names") {
  CHECK(nn::matches("encoder.layers.0.norm1.bias", "encoder.*.bias"));
  CHECK(nn::matches("encoder.layers.0.norm1.bias", "*"));
  CHECK(nn::matches("encoder.layers.0.norm1.bias", "*norm?.*"));
  CHECK(nn::matches("a.b", "a.b"));
  CHECK(nn::matches("aab", "*ab"));  // the first a is not the one
  CHECK(nn::matches("", ""));
  CHECK(nn::matches("", "**"));
  CHECK_FALSE(nn::matches("", "?"));
  CHECK_FALSE(nn::matches("a.b", "a"));
  CHECK_FALSE(nn::matches("a.b", "A.b"));
  CHECK_FALSE(nn::matches("axb", "a.b"));  // a dot is a dot
  CHECK_FALSE(nn::matches("norm10.bias", "norm?.bias"));
  CHECK_FALSE(nn::matches("encoder.norm.bias", "encoder.*.weight"));
}

TEST_CASE("select: parameters by name, each once, aliases too") {
  const nn::CausalLM model = small();
  CHECK(chosen(model, "*.1.norm?.bias") == std::vector<std::string>{"encoder.layers.1.norm1.bias", "encoder.layers.1.norm2.bias"});
  CHECK(chosen(model, "head.weight") == std::vector<std::string>{"head.weight"});
  CHECK(nn::named_parameters(model, "head.weight")[0].ref == model.tok.weight.ref());
  CHECK(nn::named_parameters(model, "*").size() == nn::named_parameters(model).size());
  CHECK(message<ValueError>([&] { nn::named_parameters(model, "encodr.*"); }) ==
        "named_parameters: no parameter has a name like 'encodr.*'. The model has: tok.weight, pos.weight, "
        "encoder.layers.0.self_attn.in_proj_weight, encoder.layers.0.self_attn.in_proj_bias, … (29 names)");
}

TEST_CASE("select: frozen parameters get no gradient and no update, and the others train on") {
  nn::CausalLM model = small();
  CHECK(nn::freeze(model) == nn::parameters(model).size());
  CHECK(trainable(model).empty());
  CHECK(nn::unfreeze(model, "encoder.layers.1.*") == 12);
  CHECK(nn::freeze(model, "*.bias") == 11);
  CHECK(trainable(model) == std::vector<std::string>{"encoder.layers.1.self_attn.in_proj_weight", "encoder.layers.1.self_attn.in_proj_bias",
                                                     "encoder.layers.1.self_attn.out_proj.weight", "encoder.layers.1.linear1.weight",
                                                     "encoder.layers.1.linear2.weight", "encoder.layers.1.norm1.weight",
                                                     "encoder.layers.1.norm2.weight"});
  std::vector<Array> before;
  for (const auto& parameter : nn::parameters(model)) before.push_back(parameter.value());
  optim::AdamW adamw(nn::parameters(model), {.lr = 0.1, .weight_decay = 0.5});
  {
    Tape tape;
    tape.backward(model.loss(Ids::rows({{1, 2, 3}}), Ids::rows({{2, 3, 4}})));
    adamw.step();
  }
  std::size_t i = 0;
  for (const auto& parameter : nn::parameters(model)) {
    CHECK(static_cast<bool>(parameter.grad()) == parameter.trainable());
    CHECK(same_bits(parameter.value(), before[i++]) != parameter.trainable());
  }
  CHECK(message<ValueError>([&] { nn::freeze(model, "layers.7.*"); }).starts_with("freeze: no parameter has a name like 'layers.7.*'. "));
}

TEST_CASE("select: an optimizer's groups by pattern") {
  const nn::CausalLM model = small();
  const auto names = nn::named_parameters(model, "encoder.*");
  const auto groups =
      optim::split(nn::named_parameters(model), [](const NamedParameter& parameter) { return nn::matches(parameter.name, "encoder.*"); });
  CHECK(groups[0].parameters.size() == names.size());
  CHECK(groups[1].parameters.size() == 2);
  const optim::AdamW adamw({{.parameters = names, .lr_factor = 0.1}, groups[1]});
}
