#include <map>
#include <tapeform/nn/decoder.hpp>

#include "catch.hpp"
#include "nn/decode_models.hpp"
#include "nn/decode_reference.hpp"

using namespace tapeform;
using decoding::Batch;
using decoding::end_id;
using decoding::start_id;
using reference::Sequence;

namespace {

/// Log-probabilities told by a function of the ids so far: a model whose search can be followed by hand.
class Told final : public nn::Decoder {
 public:
  using Next = std::function<std::vector<double>(const Sequence& so_far)>;

  explicit Told(Next next, Dim room = 60) : nn::Decoder(room), next_(std::move(next)) {
    sequences_.resize(1);
    step({});
  }

 private:
  void step(const Ids&) override {
    std::vector<double> all;
    for (const Sequence& sequence : sequences_) {
      const std::vector<double> row = next_(sequence);
      all.insert(all.end(), row.begin(), row.end());
    }
    logits_ = Array::of({rows(), static_cast<Dim>(all.size()) / rows()}, all);
  }

  Next next_;
};

/// Logits of probabilities that `given` tells, what is left of 1 on the last id.
std::vector<double> with_rest(std::vector<double> given) {
  double rest = 1;
  for (double& log_p : given) rest -= std::exp(log_p);
  given.push_back(std::log(rest));
  return given;
}

double worst_difference(const Array& a, const Array& b) { return difference(a, b.reshape(a.shape())); }

}  // namespace

TEST_CASE("TR-06: cache against full forward", "[case]") {
  const std::vector<std::int64_t> tokens = {1, 5, 7, 3, 3, 9, 11, 4, 8, 2, 6, 10, 12, 4, 5, 3, 7, 7, 9, 1, 3, 6, 2, 8};
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Dim batch : {1, 3}) {
      nn::CausalLM lm = exact(decoding::language_model(1), 1, 0.2);
      nn::Seq2Seq translator = exact(decoding::translator(1), 1, 0.2);
      nn::cast(lm, dtype);
      nn::cast(translator, dtype);
      const double tolerance = dtype == DType::float64 ? 1e-10 : 1e-5;
      const Ids ids({batch, 8}, std::span(tokens).first(static_cast<std::size_t>(batch * 8)));
      Rng rng(2);
      const Batch src = decoding::batch_of(batch, rng);
      const Array full_lm = lm(ids).value(), full = translator(src.ids, src.lens, ids).value();
      const Tensor memory = translator.encode(src.ids, src.lens);
      for (int sentence = 0; sentence < 2; ++sentence) {  // a new cache for each: nothing is left of the one before
        nn::TransformerCache lm_cache, cache;
        for (Dim t = 0; t < 8; ++t) {
          Ids newest = Ids::full({batch, 1}, 0);
          newest.write([&](auto values) {
            for (Dim b = 0; b < batch; ++b) values[static_cast<std::size_t>(b)] = ids.at({b, t});
          });
          const Array of_lm = lm.logits(lm.hiddens(newest, {.cache = &lm_cache})).value();  // [B, 1, V]
          const Array of_translator =
              translator.logits(translator.decode(newest, t == 0 ? memory : Tensor(), src.lens, {.cache = &cache})).value();
          for (Dim b = 0; b < batch; ++b) {
            CHECK(worst_difference(part(of_lm, b, 0, 1).cast(DType::float64), part(full_lm, b, t, t + 1).cast(DType::float64)) < tolerance);
            CHECK(worst_difference(part(of_translator, b, 0, 1).cast(DType::float64), part(full, b, t, t + 1).cast(DType::float64)) <
                  tolerance);
          }
        }
      }
    }
}

// Prompts are padded on the right here; lengths are told, and a position is counted in its own sequence.
TEST_CASE("TR-08: position not offset by the cache", "[case]") {
  const nn::CausalLM model = exact(decoding::language_model(2), 2, 0.3);
  nn::CausalLMDecoder both(model, Ids::rows({{3, 4, 0, 0, 0}, {5, 6, 7, 8, 9}}), Ids{2, 5});
  const std::vector<Sequence> prompts = {{3, 4}, {5, 6, 7, 8, 9}};
  const std::vector<Dim> rows = {0, 1};
  for (int t = 0; t < 4; ++t) {
    for (Dim b = 0; b < 2; ++b) {
      const auto expected = reference::of(model, both.sequence(b))({});
      CHECK(worst_difference(both.logits().rows(b, b + 1), Array::of({decoding::vocab}, expected)) < 1e-10);
    }
    both.advance(rows, std::vector<std::int64_t>{10 - t, 3 + t});
  }
  // Moving one row's position by one would be seen.
  const Array x = drawn({1, 1, 16}, 3);
  CHECK(difference(model.pos(x, {.begin = Ids{2}}).value(), model.pos(x, {.begin = Ids{3}}).value()) > 1e-3);
}

TEST_CASE("TR-09: beam result depends on batch size", "[case]") {
  Rng rng(4);
  const Batch all = decoding::batch_of(20, rng);
  const nn::Seq2Seq model = decoding::trained(9, 80);
  const nn::BeamOptions options{.beam = 5, .n_best = 5, .start_id = start_id, .end_id = end_id};
  const auto together = nn::beam_search(model, all.ids, all.lens, options);
  for (const Dim each : {1, 5})
    for (Dim begin = 0; begin < 20; begin += each) {
      const Batch batch = rows_of(all, begin, begin + each);
      const auto found = nn::beam_search(model, batch.ids, batch.lens, options);
      for (std::size_t b = 0; b < found.size(); ++b) {
        const auto& expected = together[static_cast<std::size_t>(begin) + b];
        REQUIRE(found[b].size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          CHECK(found[b][i].ids == expected[i].ids);
          CHECK(found[b][i].score == Catch::Approx(expected[i].score).margin(1e-5));
        }
      }
    }
  const auto one = nn::beam_search(model, all.ids, all.lens, {.beam = 1, .start_id = start_id, .end_id = end_id});
  const Ids greedy = nn::generate(model, all.ids, all.lens, {.start_id = start_id, .end_id = end_id});
  for (Dim b = 0; b < 20; ++b) {
    const Sequence& ids = one[static_cast<std::size_t>(b)][0].ids;
    for (Dim t = 0; t < greedy.dim(1); ++t) CHECK(greedy.at({b, t}) == (t < std::ssize(ids) ? ids[static_cast<std::size_t>(t)] : end_id));
  }
}

TEST_CASE("TR-11: stops at the first finished beam", "[case]") {
  // Ids: 0 the end, 1 a, 2 b, 3 c, 4 what is left.
  const std::map<Sequence, std::vector<double>> told = {
      {{}, {-1.0, -1.1, -9, -9}}, {{1}, {-9, -9, -0.3, -9}}, {{1, 2}, {-9, -9, -9, -0.3}}, {{1, 2, 3}, {-0.3, -9, -9, -9}}};
  const auto next = [&told](const Sequence& so_far) {
    const auto row = told.find(so_far);
    return with_rest(row == told.end() ? std::vector<double>(4, std::log(0.2)) : row->second);
  };
  const nn::BeamOptions options{.beam = 2, .max_new_ids = 6, .end_id = 0, .length_penalty = 1, .length_offset = 0};
  Told model(next);
  const auto best = nn::beam_search(model, options)[0][0];
  CHECK(best.ids == Sequence{1, 2, 3, 0});
  CHECK(best.log_probability == Catch::Approx(-2.0));
  CHECK(best.score == Catch::Approx(-0.5));
  Told again(next);
  nn::BeamOptions hasty = options;
  hasty.stop_early = true;
  CHECK(nn::beam_search(again, hasty)[0][0].ids == Sequence{0});
}

// The end counts in length, score and ids wherever it came; a start id counts nowhere.
TEST_CASE("TR-13: hypothesis length off by one", "[case]") {
  const auto next = [](const Sequence& so_far) {
    return with_rest({so_far.size() < 50 ? -40.0 : -0.1, so_far.size() < 50 ? -0.1 : -40.0});
  };
  for (const bool cut : {false, true}) {
    const Dim most = cut ? 50 : 60, length = cut ? 50 : 51;
    Told model(next);
    const auto best = nn::beam_search(model, {.beam = 1, .max_new_ids = most, .end_id = 0})[0][0];
    REQUIRE(best.ids.size() == static_cast<std::size_t>(length));
    CHECK(best.ended == !cut);
    CHECK(best.ids.back() == (cut ? 1 : 0));
    CHECK(best.log_probability == Catch::Approx(-0.1 * static_cast<double>(length)));
    CHECK(best.score == Catch::Approx(best.log_probability / std::pow((5.0 + static_cast<double>(length)) / 6, 0.6)));
    Told greedy(next);
    CHECK(nn::generate(greedy, {.max_new_ids = most, .end_id = 0}) == reference::one_row(best.ids));
  }
}
