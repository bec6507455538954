#include "copy/copy_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tapeform/pages/attention.hpp>

namespace examples::copy {

using namespace tapeform;

void Recipe::state(StateFields& field) {
  field("updates", updates);
  field("batch", batch);
  field("lr", lr);
  field("warmup", warmup);
  field("clip", clip);
}

Ids draw_sequences(Dim batch, Rng& rng) {
  Ids ids = Ids::full({batch, length}, 0);
  ids.write([&](auto symbols) {
    for (auto& symbol : symbols) symbol = 1 + rng.below(vocabulary - 1);
  });
  return ids;
}

Ids shifted(const Ids& targets) {
  Ids inputs = Ids::full(targets.shape(), start_id);
  const auto from = targets.values();
  inputs.write([&](auto to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      if (i % static_cast<std::size_t>(length) != 0) to[i] = from[i - 1];
  });
  return inputs;
}

nn::Seq2Seq make_model(Rng& rng) {
  return nn::Seq2Seq(vocabulary, vocabulary, rng,
                     {.num_hiddens = 64,
                      .num_heads = 4,
                      .num_encoder_layers = 2,
                      .num_decoder_layers = 2,
                      .ffn_num_hiddens = 256,
                      .dropout = 0.0,
                      .norm_first = true,
                      .positions = nn::Positions::learned,
                      .max_len = length});
}

Trainer::Trainer(nn::Seq2Seq& model, const Recipe& recipe, std::uint64_t seed)
    : model_(model),
      recipe_(recipe),
      data_(Rng(seed).stream(1)),
      parameters_(nn::parameters(model)),
      adamw_(parameters_, {.lr = recipe.lr, .beta2 = 0.98, .weight_decay = 0.0}),
      schedule_({.lr = recipe.lr, .min_lr = 0.0, .warmup = std::min(recipe.warmup, recipe.updates), .total = recipe.updates}) {}

double Trainer::update() {
  const Ids sequences = draw_sequences(recipe_.batch, data_);
  adamw_.set_lr(schedule_.lr(done_++));
  Tape tape;
  const Tensor loss = model_.loss(sequences, {}, shifted(sequences), sequences);
  tape.backward(loss);
  optim::clip_grad_norm(parameters_, recipe_.clip);
  adamw_.step();
  adamw_.zero_grad();
  return loss.item();
}

void Trainer::state(StateFields& field) {
  field("adamw", adamw_);
  field("schedule", schedule_);
  field("data", data_);
  field("done", done_);
}

Result evaluate(const nn::Seq2Seq& model, Dim sequences, std::uint64_t seed) {
  Rng data = Rng(seed).stream(2);
  Result result{.sequences = sequences, .sources = draw_sequences(sequences, data)};
  result.copies = nn::generate(model, result.sources, {}, {.max_new_ids = length, .start_id = start_id});
  for (Dim b = 0; b < sequences; ++b) {
    bool same = true;
    for (Dim t = 0; t < length; ++t) same = same && result.sources.at({b, t}) == result.copies.at({b, t});
    result.exact += same;
  }
  return result;
}

CrossAttention look(const nn::Seq2Seq& model, const Ids& sources) {
  CrossAttention attention;
  const nn::AttentionRecorder recorder(model);
  model(sources, Ids(), shifted(sources));
  for (const std::string& name : recorder.names(nn::AttentionKind::cross)) {
    const Array& weights = recorder[name];  // [B, H, T, T]
    for (Dim h = 0; h < weights.dim(1); ++h) {
      double share = 0;
      for (Dim b = 0; b < weights.dim(0); ++b)
        for (Dim t = 0; t < length; ++t) share += weights.at({b, h, t, t});
      share /= static_cast<double>(weights.dim(0) * length);
      if (share <= attention.best_share) continue;
      attention.best_share = share;
      attention.best_head = fmt::format("{} head {}", name, h);
    }
    attention.layers.push_back(name);
    attention.weights.push_back(weights);
  }
  return attention;
}

std::string draw(const CrossAttention& attention, const Ids& sources, bool as_page) {
  std::vector<std::string> keys, queries{"start"};
  for (Dim t = 0; t < length; ++t) keys.push_back(std::to_string(sources.at({0, t})));
  queries.insert(queries.end(), keys.begin(), keys.end() - 1);  // a query stands where the symbol before its own was read
  std::vector<pages::AttentionMap> maps;
  for (std::size_t layer = 0; layer < attention.layers.size(); ++layer) {
    const Array first = attention.weights[layer].rows(0, 1);  // [1, H, T, T]
    maps.push_back({.name = attention.layers[layer],
                    .kind = nn::AttentionKind::cross,
                    .layer = static_cast<Dim>(layer),
                    .weights = first.reshape({first.dim(1), length, length}),
                    .queries = queries,
                    .keys = keys});
  }
  const std::string title = "What the copying decoder attends to (source across, what it has just read down)";
  return as_page ? pages::html(maps, {.title = title}) : pages::svg(maps, {.title = title});
}

}  // namespace examples::copy
