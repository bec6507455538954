#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tapeform/core/error.hpp>
#include <tapeform/core/io/checkpoint.hpp>
#include <tapeform/core/io/safetensors.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"
#include "core/files.hpp"

using namespace tapeform;

namespace {

struct Layer {
  Parameter weight, bias;
  Array running = Array::zeros({2});
  void visit(Fields& field) {
    field("weight", weight);
    field("bias", bias);
    field("running", running);
  }
};

/// Two layers and a weight that both a table and a head use.
struct Model {
  std::vector<Layer> layers{2};
  Parameter table;
  explicit Model(double value = 0) : table(Array::full({3, 2}, value)) {
    for (Layer& layer : layers) layer = {Parameter(Array::full({2, 2}, value)), Parameter(Array::full({2}, value, DType::float64))};
  }
  void visit(Fields& field) {
    field("layers", layers);
    field("table", table);
    field.alias("head", table);
  }
};

struct Counter {
  std::int64_t seen = 0;
  void state(StateFields& field) { field("seen", seen); }
};

/// One of everything.
struct Run {
  Model model;
  Rng rng{7};
  std::int64_t step = 0;
  std::uint64_t large = 0;
  std::int8_t small = 0;
  bool done = false;
  double best = 0;
  float rate = 0;
  std::string note;
  Array nothing, average;
  Ids order{0, 0, 0};
  Ids free;
  std::vector<double> losses;
  std::vector<std::int64_t> lengths;
  std::vector<Counter> counters{2};
  std::optional<Counter> maybe;
  std::unique_ptr<Counter> owned = std::make_unique<Counter>();
  void state(StateFields& field) {
    field("model", model);
    field("rng", rng);
    field("step", step);
    field("large", large);
    field("small", small);
    field("done", done);
    field("best", best);
    field("rate", rate);
    field("note", note);
    field("nothing", nothing);
    field("average", average);
    field("order", order);
    field("free", free);
    field("losses", losses);
    field("lengths", lengths);
    field("counters", counters);
    field("maybe", maybe);
    field("owned", owned);
  }
};

Run full_run() {
  Run run;
  run.model = Model(2.5);
  run.rng.uniform();
  run.step = INT64_MIN;
  run.large = UINT64_MAX;
  run.small = -5;
  run.done = true;
  run.best = 0.1;
  run.rate = 0.1f;
  run.note = "größer \"als\" 1";
  run.average = Array::of({2}, {1, 2}, DType::float64);
  run.order = {2, 0, 1};
  run.free = {5, 6};
  run.losses = {3.5, 2.25};
  run.lengths = {4};
  run.counters[1].seen = 9;
  run.owned->seen = 8;
  return run;
}

struct Part {  // a model of one tensor
  Array x;
  void state(StateFields& field) { field("x", x); }
};

struct Named {
  std::string name;
  Array x;
  void state(StateFields& field) { field(name, x); }
};

std::string error_of(const std::string& path, Named& to) {
  std::string text = message<IoError>([&] { io::load_checkpoint(path, {{"m", to}}); });
  const auto at = text.find(path);
  return at == std::string::npos ? "names no file: " + text : text.replace(at, path.size(), "FILE");
}

const std::string begin = "load_checkpoint: names, shapes and dtypes must be those of the program; got \"FILE\" with ";
const std::string end = ". Nothing was changed";

}  // namespace

TEST_CASE("checkpoint: everything that lists its state comes back") {
  const TemporaryFile file("run.safetensors");
  const Run saved = full_run();
  io::save_checkpoint(file.path, saved, {.metadata = {{"by", "a test"}}});
  Run run;
  run.nothing = Array();
  const ParameterRef table = run.model.table.ref();
  const io::LoadReport report = io::load_checkpoint(file.path, run);
  CHECK(report.missing.empty());
  CHECK(std::ranges::find(report.metadata, std::pair<std::string, std::string>("by", "a test")) != report.metadata.end());
  CHECK(same_bits(table.value(), Array::full({3, 2}, 2.5)));  // in place: what holds the parameter sees it
  CHECK(same_bits(run.model.layers[1].bias.value(), Array::full({2}, 2.5, DType::float64)));
  CHECK(run.rng.state() == saved.rng.state());
  CHECK((run.step == INT64_MIN && run.large == UINT64_MAX && run.small == -5 && run.done && run.best == 0.1 && run.rate == 0.1f));
  CHECK(run.note == saved.note);
  CHECK_FALSE(run.nothing);
  CHECK(same_bits(run.average, saved.average));
  CHECK(run.order == saved.order);
  CHECK(run.free == saved.free);
  CHECK((run.losses == saved.losses && run.lengths == saved.lengths));
  CHECK((run.counters[1].seen == 9 && run.owned->seen == 8));
  const io::SafeTensorsReader reader(file.path);
  CHECK(reader.contains("model.layers.1.running"));
  CHECK(reader.contains("counters.0.seen"));
  CHECK_FALSE(reader.contains("model.head"));  // the table, once
}

TEST_CASE("checkpoint: parts in a list, and an empty name adds no prefix") {
  const TemporaryFile file("parts.safetensors");
  const Model model(1);
  std::int64_t step = 12;
  Rng rng(3);
  io::save_checkpoint(file.path, {{"model", model}, {"rng", rng}, {"step", step}, {"seven", 7}});
  Model other;
  int seven = 0;
  step = 0;
  io::load_checkpoint(file.path, {{"seven", seven}, {"step", step}, {"model", other}, {"rng", rng}});
  CHECK((step == 12 && seven == 7));
  CHECK(same_bits(other.table.value(), model.table.value()));
  io::save_checkpoint(file.path, {{"", model}});
  CHECK(io::SafeTensorsReader(file.path).contains("layers.0.weight"));
  io::save_checkpoint(file.path, model);
  CHECK(io::SafeTensorsReader(file.path).contains("layers.0.weight"));
  CHECK(io::load_checkpoint(file.path, other).missing.empty());
}

TEST_CASE("checkpoint: a file of other parts is loaded in part only when that is asked for") {
  const TemporaryFile file("others.safetensors");
  io::save_checkpoint(file.path, {{"model", Model(4)}, {"modelled", 1}, {"step", 2}});
  Model model;
  CHECK_THAT(message<IoError>([&] { io::load_checkpoint(file.path, {{"model", model}}); }), Contains("unexpected: modelled, step."));
  CHECK(model.table.value().at({0, 0}) == 0);
  io::load_checkpoint(file.path, {{"model", model}}, {.allow_other_parts = true});
  CHECK(model.table.value().at({0, 0}) == 4);
  Layer layer{Parameter(Array::zeros({2, 2})), Parameter(Array::zeros({2}, DType::float64))};
  CHECK_THAT(message<IoError>([&] {
               io::load_checkpoint(file.path, {{"model", layer}}, {.allow_other_parts = true});
             }),
             Contains("unexpected: model.layers.0.bias (nearest here: model.bias)"));
}

TEST_CASE("checkpoint: missing, unexpected and misshapen names come in one error, and nothing is changed") {
  struct Four {
    Array same = Array::zeros({2}), shape = Array::zeros({2, 3}), dtype = Array::zeros({1}, DType::float64), lost = Array::zeros({1});
    Ids kind{1};
    void state(StateFields& field) {
      field("same", same);
      field("shape", shape);
      field("dtype", dtype);
      field("layers.0.weight", lost);
      field("kind", kind);
    }
  };
  const TemporaryFile file("faults.safetensors");
  io::write_safetensors(file.path, {{"same", Array::ones({2})},
                                    {"shape", Array::ones({3, 2})},
                                    {"dtype", Array::ones({1})},
                                    {"layer.0.weight", Array::ones({1})},
                                    {"zzzzzzzzzzzzzzzzzzzzzzzzz", Array::ones({1})},
                                    {"kind", Array::ones({1})}});
  Four four;
  CHECK(
      message<IoError>([&] { io::load_checkpoint(file.path, four); }) ==
      "load_checkpoint: names, shapes and dtypes must be those of the program; got \"" + file.path +
          "\" with missing: layers.0.weight; unexpected: layer.0.weight (nearest here: layers.0.weight), zzzzzzzzzzzzzzzzzzzzzzzzz; "
          "another shape: shape [3, 2] in the file, [2, 3] here; another dtype: dtype F32 in the file, float64 here, kind F32 in the file, "
          "ids here. Nothing was changed");
  CHECK(same_bits(four.same, Array::zeros({2})));
  // allow_missing forgives what is missing, and nothing else.
  CHECK_THAT(message<IoError>([&] { io::load_checkpoint(file.path, four, {.allow_missing = true}); }),
             Contains("with unexpected: layer.0.weight (nearest here: layers.0.weight)"));
}

TEST_CASE("checkpoint: what a file lacks stays when that is allowed, and is named") {
  const TemporaryFile file("partial.safetensors");
  io::save_checkpoint(file.path, {{"step", 3}});
  std::int64_t step = 0;
  std::string note = "kept";
  Array x = Array::ones({1});
  CHECK_THAT(message<IoError>([&] {
               io::load_checkpoint(file.path, {{"step", step}, {"note", note}, {"x", x}});
             }),
             Contains("with missing: note, x. Nothing was changed"));
  CHECK(step == 0);
  const io::LoadReport report = io::load_checkpoint(file.path, {{"step", step}, {"note", note}, {"x", x}}, {.allow_missing = true});
  CHECK(report.missing == std::vector<std::string>{"note", "x"});
  CHECK((step == 3 && note == "kept" && x.at({0}) == 1));
}

TEST_CASE("checkpoint: long lists are cut") {
  struct Many {
    std::vector<Array> arrays = std::vector<Array>(25, Array::zeros({1}));
    void state(StateFields& field) {
      for (std::size_t i = 0; i < arrays.size(); ++i) field("a" + std::to_string(10 + i), arrays[i]);
    }
  };
  const TemporaryFile file("many.safetensors");
  io::write_safetensors(file.path, {});
  Many many;
  CHECK_THAT(message<IoError>([&] { io::load_checkpoint(file.path, many); }),
             Contains("missing: a10, a11, a12, a13, a14, a15, a16, a17, a18, a19 and 15 more. Nothing"));
}

TEST_CASE("CK-01: shape mismatch loads by broadcasting", "[case]") {
  const struct {
    Shape file, here;
    const char* text;
  } cases[] = {{{1, 64}, {32, 64}, "m.w [1, 64] in the file, [32, 64] here"},
               {{2, 3}, {3, 2}, "m.w [2, 3] in the file, [3, 2] here"},
               {{6}, {2, 3}, "m.w [6] in the file, [2, 3] here"}};
  for (const auto& [in_file, here, text] : cases) {
    const TemporaryFile file("broadcast.safetensors");
    io::save_checkpoint(file.path, {{"m", Named{"w", Array::ones(in_file)}}});
    Named to{"w", Array::zeros(here)};
    CHECK(error_of(file.path, to) == begin + "another shape: " + text + end);
    CHECK(same_bits(to.x, Array::zeros(here)));
  }
}

TEST_CASE("checkpoint: an array that holds nothing, on either side") {
  const TemporaryFile file("nothing.safetensors");
  const Array two = Array::of({2}, {1, 2});
  Part part;
  io::save_checkpoint(file.path, {{"m", Part{}}});
  part.x = two;
  CHECK_THAT(message<IoError>([&] {
               io::load_checkpoint(file.path, {{"m", part}});
             }),
             Contains("another shape: m.x nothing in the file, [2] here"));
  part.x = Array();
  io::load_checkpoint(file.path, {{"m", part}});
  CHECK_FALSE(part.x);
  io::save_checkpoint(file.path, {{"m", Part{two}}});
  io::load_checkpoint(file.path, {{"m", part}});
  CHECK(same_bits(part.x, two));
  struct Slot {
    Array moment, like = Array::zeros({2});
    void state(StateFields& field) { field("moment", moment, like); }
  };
  Slot slot{.moment = two};
  io::save_checkpoint(file.path, {{"m", Slot{}}});
  io::load_checkpoint(file.path, {{"m", slot}});
  CHECK_FALSE(slot.moment);
  io::save_checkpoint(file.path, {{"m", Named{"moment", Array::zeros({3})}}});
  CHECK_THAT(message<IoError>([&] {
               io::load_checkpoint(file.path, {{"m", slot}});
             }),
             Contains("another shape: m.moment [3] in the file, [2] here"));
}

TEST_CASE("checkpoint: a number that does not fit its type, and a text under a tensor's name") {
  const TemporaryFile file("numbers.safetensors");
  std::int8_t small = 1;
  bool truth = false;
  std::uint16_t unsigned_one = 3;
  io::save_checkpoint(file.path, {{"n", 128}});
  CHECK(message<IoError>([&] {
          io::load_checkpoint(file.path, {{"n", small}});
        }) == "load_checkpoint: n must fit 8 bits here; got 128 in \"" + file.path + "\". Nothing was changed");
  CHECK_THAT(message<IoError>([&] { io::load_checkpoint(file.path, {{"n", truth}}); }), Contains("n must fit 1 bits here; got 128"));
  io::save_checkpoint(file.path, {{"n", -1}});
  CHECK_THAT(message<IoError>([&] { io::load_checkpoint(file.path, {{"n", unsigned_one}}); }), Contains("n must fit 16 bits here; got -1"));
  CHECK((small == 1 && unsigned_one == 3));
  std::vector<double> numbers;
  CHECK_THAT(message<IoError>([&] {
               io::load_checkpoint(file.path, {{"n", numbers}});
             }),
             Contains("another shape: n [] in the file, one axis here; another dtype: n I64 in the file, float64 here"));
}

TEST_CASE("checkpoint: names given twice and text that is not UTF-8 are told when saving") {
  const TemporaryFile file("twice.safetensors");
  int a = 1;
  CHECK(message<ValueError>([&] {
          io::save_checkpoint(file.path, {{"a", a}, {"a", a}});
        }) == "save_checkpoint: every name is given once; got \"a\" twice");
  CHECK(message<ValueError>([&] {
          io::load_checkpoint(file.path, {{"a", a}, {"a", a}});
        }) == "load_checkpoint: every name is given once; got \"a\" twice");
  CHECK(message<ValueError>([&] {
          io::save_checkpoint(file.path, {{"a", std::string("x")}}, {.metadata = {{"a", "y"}}});
        }) == "save_checkpoint: every name is given once; got \"a\" twice");
  CHECK(message<ValueError>([&] {
          io::save_checkpoint(file.path, {{"a", std::string("\xff")}});
        }) == "save_checkpoint: names and metadata must be UTF-8");
  CHECK(message<ValueError>([&] {
          io::save_checkpoint(file.path, {{"__metadata__", a}});
        }) == "save_checkpoint: the name \"__metadata__\" is the format's own");
  CHECK_THAT(message<IoError>([&] {
               io::save_checkpoint("/nowhere/at/all", {{"a", a}});
             }),
             Contains("save_checkpoint: the folder must be writable"));
  CHECK_THAT(message<IoError>([&] { io::load_checkpoint("/nowhere/at/all", {{"a", a}}); }), Contains("the file must be readable"));
}

TEST_CASE("CK-11: tied weights and the file", "[case]") {
  const TemporaryFile file("tied.safetensors");
  io::save_checkpoint(file.path, Model(3));  // stored once
  CHECK(io::SafeTensorsReader(file.path).tensors().size() == 7);
  Model model;
  const ParameterRef tied = model.table.ref();
  io::load_checkpoint(file.path, model);
  CHECK(tied == model.table.ref());
  CHECK(tied.value().at({2, 1}) == 3);
  // Files that know it by the other name, or by both.
  std::vector<io::NamedTensor> tensors = io::read_safetensors(file.path).tensors(), both = tensors, renamed, apart;
  both.emplace_back("head", Array::full({3, 2}, 3));
  for (const io::NamedTensor& tensor : tensors) {
    if (tensor.name() != "table") renamed.push_back(tensor);
    apart.push_back(tensor);
  }
  renamed.emplace_back("head", Array::full({3, 2}, 5));
  apart.emplace_back("head", Array::full({3, 2}, 4));
  io::write_safetensors(file.path, both);
  io::load_checkpoint(file.path, model);
  io::write_safetensors(file.path, renamed);
  io::load_checkpoint(file.path, model);
  CHECK(tied.value().at({0, 0}) == 5);
  io::write_safetensors(file.path, apart);
  CHECK(message<IoError>([&] { io::load_checkpoint(file.path, model); }) ==
        "load_checkpoint: tied names must hold the same numbers; got table and head that differ in \"" + file.path +
            "\". Nothing was changed");
  CHECK(tied.value().at({0, 0}) == 5);
}
