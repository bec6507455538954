#include <array>
#include <memory>
#include <optional>
#include <tapeform/core/error.hpp>
#include <tapeform/core/fields.hpp>
#include <tapeform/core/memory.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/tape.hpp>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

namespace {

Array two(double a, double b, DType dtype = DType::float64) { return Array::of({2}, {a, b}, dtype); }

struct Leaf {
  Parameter weight, bias;
  explicit Leaf(double value = 1.0) : weight(two(value, value)), bias(two(0, 0)) {}
  void visit(Fields& field) {
    field("weight", weight);
    field("bias", bias);
  }
};

std::vector<std::string> names(const std::vector<NamedParameter>& parameters) {
  std::vector<std::string> result;
  for (const NamedParameter& parameter : parameters) result.push_back(parameter.name);
  return result;
}

}  // namespace

TEST_CASE("a copy of a parameter is independent, and copies nothing until one is written") {
  Parameter p(two(1, 2));
  p.ref().grad() = two(5, 5);
  p.set_trainable(true);
  const auto copies = memory_stats().copies;
  const Parameter copy = p;
  CHECK(copy.value().is_same(p.value()));
  CHECK_FALSE(copy.grad());
  CHECK_FALSE(copy.ref() == p.ref());
  CHECK(memory_stats().copies == copies);
  p.ref().value().mutable_data<double>()[0] = 9;
  CHECK(copy.value().to_vector() == std::vector<double>{1, 2});
  CHECK(memory_stats().copies == copies + 1);
}

TEST_CASE("copy assignment writes into the parameter that is there") {
  Parameter p(two(1, 2));
  const ParameterRef handle = p.ref();
  const Parameter other(two(3, 4));
  p = other;
  CHECK(handle == p.ref());
  CHECK_FALSE(handle.orphan());
  CHECK(handle.value().to_vector() == std::vector<double>{3, 4});
  const Parameter& self = p;
  p = self;
  CHECK(p.value().to_vector() == std::vector<double>{3, 4});

  CHECK(message<ShapeError>([&] { p = Parameter(Array::zeros({3}, DType::float64)); }) == "no error");  // a move: any shape
  Parameter q(two(1, 2));
  const Parameter wide(Array::zeros({3}, DType::float64)), narrow(two(7, 8, DType::float32));
  CHECK(message<ShapeError>([&] { q = wide; }) == "parameter: a new value must have the old one's shape; got [3] for [2]");
  CHECK(message<DTypeError>([&] { q = narrow; }) ==
        "parameter: a new value must have the old one's dtype; got float32 for float64. Use cast()");
  CHECK(message<ShapeError>([&] { q.assign(wide.value()); }) == "parameter: a new value must have the old one's shape; got [3] for [2]");
  CHECK(q.value().to_vector() == std::vector<double>{1, 2});
}

TEST_CASE("handles follow a move, and know when their parameter is gone") {
  Parameter p(two(1, 2));
  const ParameterRef handle = p.ref();
  Parameter moved = std::move(p);
  CHECK(handle == moved.ref());
  CHECK_FALSE(p);
  Parameter target(two(8, 8));
  const ParameterRef old = target.ref();
  target = std::move(moved);
  CHECK(old.orphan());
  CHECK(old.value().to_vector() == std::vector<double>{8, 8});
  CHECK_FALSE(handle.orphan());
  CHECK(handle.id() == target.ref().id());
  {
    const Parameter scoped(two(3, 3));
    target = Parameter(scoped);
  }
  CHECK(handle.orphan());

  std::vector<Leaf> grows;
  std::vector<ParameterRef> handles;
  for (int i = 0; i < 100; ++i) handles.push_back(grows.emplace_back(i).weight.ref());
  for (std::size_t i = 0; i < 100; ++i) CHECK(handles[i] == grows[i].weight.ref());
}

TEST_CASE("a parameter that holds nothing is absent") {
  Parameter nothing;
  CHECK_FALSE(nothing);
  CHECK_FALSE(nothing.value());
  CHECK_FALSE(nothing.grad());
  CHECK_FALSE(nothing.trainable());
  CHECK_FALSE(Tensor(nothing));
  const Parameter copy = nothing;
  CHECK_FALSE(copy);
  CHECK(message<ValueError>([&] { nothing.assign(two(1, 2)); }) ==
        "parameter: it has no value to replace (default-constructed or moved from). Construct it with one");
  nothing = Parameter(two(1, 2));
  CHECK(nothing.value().numel() == 2);
}

TEST_CASE("a frozen parameter is a constant") {
  Parameter p(two(1, 2));
  p.ref().grad() = two(5, 5);
  p.set_trainable(false);
  CHECK_FALSE(p.grad());
  CHECK_FALSE(p.ref().trainable());
  CHECK_FALSE(Parameter(p).trainable());
  Tape tape;
  CHECK_FALSE(scaled(p, 2.0).recorded());
  CHECK(tape.nodes() == 0);
  p.set_trainable(true);
  CHECK(scaled(p, 2.0).recorded());
}

TEST_CASE("a parameter has one leaf on a tape, and outlives it there") {
  Tape tape;
  Array gradient;
  {
    Parameter p(two(1, 2));
    const Tensor a = p, b = p;
    CHECK(a.is_same(b));
    CHECK(tape.nodes() == 1);
    const Tensor y = plus(a, b);
    const ParameterRef handle = p.ref();
    p = Parameter(two(0, 0));
    tape.backward(y, two(1, 1));
    gradient = handle.grad();
    CHECK_FALSE(p.grad());
  }
  CHECK(gradient.to_vector() == std::vector<double>{2, 2});
}

TEST_CASE("fields name parameters by their dotted path, in order, each once") {
  struct Inner {
    Leaf first;
    std::vector<Leaf> layers{Leaf(1), Leaf(2)};
    std::array<Parameter, 2> scales{Parameter(two(1, 1)), Parameter(two(2, 2))};
    std::optional<Leaf> absent, present = Leaf(3);
    std::unique_ptr<Leaf> owned = std::make_unique<Leaf>(4);
    Parameter missing;
    Array buffer = two(0, 0);
    void visit(Fields& field) {
      field("", first);
      field("layers", layers);
      field("scales", scales);
      field("absent", absent);
      field("present", present);
      field("owned", owned);
      field("missing", missing);
      field("buffer", buffer);
      field("tied", first.weight);
      field.alias("head.weight", first.weight);
    }
  };
  struct Outer {
    Inner encoder;
    void visit(Fields& field) { field("encoder", encoder); }
  };
  const Outer model;
  CHECK(names(named_parameters(model)) ==
        std::vector<std::string>{"encoder.weight", "encoder.bias", "encoder.layers.0.weight", "encoder.layers.0.bias",
                                 "encoder.layers.1.weight", "encoder.layers.1.bias", "encoder.scales.0", "encoder.scales.1",
                                 "encoder.present.weight", "encoder.present.bias", "encoder.owned.weight", "encoder.owned.bias"});
  CHECK(names(named_parameters(model.encoder)).front() == "weight");
  const auto refs = parameters(model);
  CHECK(refs.size() == 12);
  CHECK(refs[4].value().at({0}) == 2);

  struct Listing final : PathFields {
    std::vector<std::string> buffers, aliases;
    void on_buffer(const char* name, Array&) override { buffers.push_back(full(name)); }
    void on_alias(const char* name, Parameter& parameter) override {
      if (parameter) aliases.push_back(full(name));
    }
  } listing;
  walk(model, listing);
  CHECK(listing.buffers == std::vector<std::string>{"encoder.buffer"});
  CHECK(listing.aliases == std::vector<std::string>{"encoder.head.weight"});
}

TEST_CASE("an object is found by address and type, since a struct and its first member share an address") {
  struct Middle {
    Leaf inner;
    void visit(Fields& field) { field("inner", inner); }
  };
  struct Outer {
    Middle middle;
    void visit(Fields& field) { field("middle", middle); }
  };
  const Outer outer;
  const auto find = [&outer](const void* self, const void* type) {
    detail::Finder finder(self, type);
    walk(outer, finder);
    return finder.found;
  };
  CHECK(find(&outer.middle, &detail::type_tag<Middle>) == "middle");
  CHECK(find(&outer.middle, &detail::type_tag<Leaf>) == "middle.inner");
  CHECK(find(&find, &detail::type_tag<Leaf>).empty());
}

TEST_CASE("a copy of a module is an independent model; assigning one keeps the handles") {
  Leaf a(1), b(2);
  const auto handles = parameters(a);
  const Leaf copy = a;
  a = b;
  CHECK(handles == parameters(a));
  CHECK(a.weight.value().at({0}) == 2);
  CHECK(copy.weight.value().at({0}) == 1);
  CHECK(parameters(copy).front().id() != handles.front().id());
}
