#include "char_lm/char_lm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "common/command_line.hpp"

namespace examples::char_lm {

using namespace tapeform;

void Recipe::state(StateFields& field) {
  field("layers", layers);
  field("heads", heads);
  field("width", width);
  field("context", context);
  field("batch", batch);
  field("updates", updates);
  field("warmup", warmup);
  field("lr", lr);
  field("min_lr", min_lr);
  field("beta1", beta1);
  field("beta2", beta2);
  field("decay", decay);
  field("clip", clip);
  field("dropout", dropout);
}

Corpus::Corpus(std::u32string_view text, std::int64_t context, const std::string& source) : alphabet(text), train(alphabet.encode(text)) {
  const auto cut = train.size() - train.size() / 10;
  valid.assign(train.begin() + static_cast<std::ptrdiff_t>(cut), train.end());
  train.resize(cut);
  if (static_cast<std::int64_t>(std::min(train.size(), valid.size())) <= context)
    throw UsageError{fmt::format(
        "{}: {} characters are too few for a context of {}: the last tenth must hold at least {}. Use a longer text or a smaller --context",
        source, text.size(), context, context + 1)};
}

nn::CausalLM make_model(std::int64_t vocabulary, const Recipe& recipe, Rng& rng) {
  try {
    return nn::CausalLM(vocabulary, rng,
                        {.num_hiddens = recipe.width,
                         .num_heads = recipe.heads,
                         .num_layers = recipe.layers,
                         .max_len = recipe.context,
                         .dropout = recipe.dropout,
                         .bias = false});
  } catch (const ValueError& error) {
    throw UsageError{error.what()};
  }
}

static optim::CosineOptions schedule_of(const Recipe& recipe) {
  const std::int64_t total = std::max<std::int64_t>(1, recipe.updates);
  return {.lr = recipe.lr, .min_lr = recipe.min_lr, .warmup = std::min(recipe.warmup, total), .total = total};
}

Trainer::Trainer(nn::CausalLM& model, const Corpus& corpus, const Recipe& recipe, std::uint64_t seed)
    : model_(model),
      corpus_(corpus),
      recipe_(recipe),
      windows_(Rng(seed).stream(1)),
      dropout_(Rng(seed).stream(2)),
      parameters_(nn::parameters(model)),
      adamw_(optim::decay_groups(model), {.lr = recipe.lr, .beta1 = recipe.beta1, .beta2 = recipe.beta2, .weight_decay = recipe.decay}),
      schedule_(schedule_of(recipe)) {}

// The window of `context` characters at each start, and the same one character later: what follows each of them.
static std::pair<Ids, Ids> windows(const std::vector<std::int64_t>& text, std::span<const std::int64_t> starts, std::int64_t context) {
  std::vector<std::int64_t> inputs, targets;
  for (const std::int64_t start : starts) {
    const auto begin = text.begin() + start;
    inputs.insert(inputs.end(), begin, begin + context);
    targets.insert(targets.end(), begin + 1, begin + context + 1);
  }
  const Shape shape{static_cast<Dim>(starts.size()), context};
  return {Ids(shape, inputs), Ids(shape, targets)};
}

double Trainer::update() {
  std::vector<std::int64_t> starts(static_cast<std::size_t>(recipe_.batch));
  const auto last = static_cast<std::int64_t>(corpus_.train.size()) - recipe_.context;
  for (std::int64_t& start : starts) start = windows_.below(last);
  const auto [inputs, targets] = windows(corpus_.train, starts, recipe_.context);
  adamw_.set_lr(schedule_.lr(done_++));
  Tape tape(dropout_);
  const Tensor loss = model_.loss(inputs, targets);
  tape.backward(loss);
  optim::clip_grad_norm(parameters_, recipe_.clip);
  adamw_.step();
  adamw_.zero_grad();
  return loss.item();
}

void Trainer::state(StateFields& field) {
  field("adamw", adamw_);
  field("schedule", schedule_);
  field("windows", windows_);
  field("dropout", dropout_);
  field("done", done_);
}

double validation_loss(const nn::CausalLM& model, const std::vector<std::int64_t>& text, std::int64_t context) {
  const std::int64_t count = (static_cast<std::int64_t>(text.size()) - 1) / context;
  constexpr std::int64_t at_once = 64;
  double sum = 0;
  for (std::int64_t first = 0; first < count; first += at_once) {
    std::vector<std::int64_t> starts;
    for (std::int64_t i = first; i < std::min(count, first + at_once); ++i) starts.push_back(i * context);
    const auto [inputs, targets] = windows(text, starts, context);
    sum += model.loss(inputs, targets, {.reduction = Reduction::sum}).item();
  }
  return sum / static_cast<double>(count * context);
}

std::u32string write_on(const nn::CausalLM& model, const Alphabet& alphabet, std::u32string_view prompt, Rng& rng,
                        const nn::SamplingOptions& options) {
  std::vector<std::int64_t> ids = alphabet.encode(prompt);
  if (ids.empty()) ids.push_back(0);  // a line break where the text has one: it sorts before all letters
  const Ids more = nn::generate(model, Ids(Shape{1, static_cast<Dim>(ids.size())}, ids), rng, options);
  ids.insert(ids.end(), more.values().begin(), more.values().end());
  return alphabet.decode(ids);
}

}  // namespace examples::char_lm
