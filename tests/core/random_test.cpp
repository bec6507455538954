#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <cstdint>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parallel.hpp>
#include <tapeform/core/random.hpp>
#include <vector>

#include "catch.hpp"
#include "core/common.hpp"

using namespace tapeform;

// The known answers that Random123 publishes for philox4x32 with 10 rounds.
TEST_CASE("Philox gives the published numbers") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(philox(0, 0, 0) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ull, ~0ull, ~0ull) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822) == Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a number depends on seed, stream and position alone") {
  const Dim n = 50'000;
  Array drawn[2];
  const int before = threads();
  for (const int count : {1, 2}) {
    set_threads(count);
    Rng rng(11);
    drawn[count - 1] = normal({n}, 0, 1, rng);
    CHECK(rng.state().position == static_cast<std::uint64_t>(n));
  }
  set_threads(before);
  CHECK(same_bits(drawn[0], drawn[1]));

  Rng whole(11), pieces(11), wide(11);
  const Array all = normal({300}, 0, 1, whole);
  normal({100}, 0, 1, pieces);
  CHECK(same_bits(normal({200}, 0, 1, pieces), all.rows(100, 300)));
  CHECK(same_bits(normal({300}, 0, 1, wide, DType::float64).cast(DType::float32), all));

  Rng single(11);
  CHECK(single.normal() == normal({1}, 0, 1, *std::make_unique<Rng>(11), DType::float64).item());
  CHECK(single.state() == Rng::State{11, 0, 1});
}

TEST_CASE("streams and seeds are different sequences; a state goes on where it was") {
  Rng rng(3);
  rng.uniform();
  const Rng other = rng.stream(1), same = rng.stream(0);
  CHECK(other.state() == Rng::State{3, 1, 0});
  const auto first = [](Rng from) { return from.uniform(); };
  CHECK(first(same) == first(Rng(3)));
  CHECK(first(other) != first(same));
  CHECK(first(Rng(4)) != first(Rng(3)));
  CHECK(first(Rng(4)) != first(Rng(3).stream(1)));

  const Rng::State state = rng.state();
  const double next = rng.uniform();
  Rng resumed(state);
  CHECK(resumed.uniform() == next);
  rng.set_state(state);
  CHECK(rng.uniform() == next);
  CHECK(rng.reserve(5) == 2);
  CHECK(rng.state().position == 7);
}

TEST_CASE("uniform and normal numbers have their distributions") {
  const Dim n = 200'000;
  Rng rng(2);
  const std::vector<double> u = uniform({n}, -1, 3, rng, DType::float64).to_vector();
  std::array<int, 16> bins{};
  double mean = 0;
  for (const double x : u) {
    REQUIRE(x >= -1);
    REQUIRE(x < 3);
    ++bins[static_cast<std::size_t>((x + 1) * 4)];
    mean += x / static_cast<double>(n);
  }
  double chi = 0;
  for (const int bin : bins) chi += std::pow(bin - n / 16.0, 2) / (n / 16.0);
  CHECK(chi < 37.7);  // 15 degrees of freedom: exceeded once in a thousand seeds
  CHECK(std::abs(mean - 1) < 0.01);

  const std::vector<double> z = normal({n}, 2, 3, rng, DType::float64).to_vector();
  double moments[4] = {};
  int beyond_two = 0;
  for (const double x : z) {
    const double standard = (x - 2) / 3;
    for (int k = 0; k < 4; ++k) moments[k] += std::pow(standard, k + 1) / static_cast<double>(n);
    beyond_two += std::abs(standard) > 2;
  }
  CHECK(std::abs(moments[0]) < 0.01);
  CHECK(std::abs(moments[1] - 1) < 0.015);
  CHECK(std::abs(moments[2]) < 0.03);
  CHECK(std::abs(moments[3] - 3) < 0.1);
  CHECK(beyond_two / static_cast<double>(n) == Catch::Approx(0.0455).epsilon(0.05));
  double neighbours = 0;
  for (std::size_t i = 1; i < z.size(); ++i) neighbours += (z[i] - 2) * (z[i - 1] - 2) / 9 / static_cast<double>(n);
  CHECK(std::abs(neighbours) < 0.01);
}

TEST_CASE("below and permutation favour nothing") {
  Rng rng(9);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts[static_cast<std::size_t>(rng.below(6))];
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 400);
  CHECK(rng.below(1) == 0);
  for (int i = 0; i < 100; ++i) CHECK(rng.below(std::int64_t{1} << 62) >= 0);

  std::array<int, 6> orders{};
  for (int i = 0; i < 6'000; ++i) {
    const auto order = rng.permutation(3);
    ++orders[static_cast<std::size_t>(order[0] * 2 + (order[1] > order[2]))];
  }
  for (const int count : orders) CHECK(std::abs(count - 1000) < 130);
  auto order = rng.permutation(1000);
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 1000; ++i) REQUIRE(order[static_cast<std::size_t>(i)] == i);
  CHECK(rng.permutation(0).empty());

  CHECK(message<ValueError>([&] { rng.below(0); }) == "below: the bound must be positive; got 0");
  CHECK(message<ValueError>([&] { rng.permutation(-1); }) == "permutation: the number of elements must not be negative; got -1");
}

TEST_CASE("uniform: rounding to float32 does not reach the open end") {
  Rng rng(11);
  const double low = 16777214.0, high = 16777216.0;  // two steps of float32: half of the draws round up to the end
  const Array numbers = uniform({1000}, low, high, rng);
  for (const float number : numbers.values<float>()) CHECK((number >= low && number < high));
}
