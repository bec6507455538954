#include <tapeform/core/error.hpp>
#include <tapeform/core/profile.hpp>
#include <tapeform/core/tape.hpp>
#include <optional>

#include "catch.hpp"

using namespace tapeform;

namespace {

Tensor copied(const Tensor& x) {
  return record("copied", x.value(), wrt(x, [](const Array& dy) { return dy; }));
}

}  // namespace

TEST_CASE("profile: ops are counted forward and backward, by shape, and results keep their bits") {
  const Array x = Array::full({2, 3}, 1.5);
  Array plain, profiled;
  for (const bool on : {false, true}) {
    std::optional<Profile> profile;
    if (on) profile.emplace();
    Tape tape;
    const Tensor leaf = tape.watch(x);
    tape.backward(copied(copied(leaf)), x);
    (on ? profiled : plain) = tape.grad(leaf);
    if (!on) continue;
    const std::vector<ProfileRow> rows = profile->rows();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].op == "copied");
    CHECK(rows[0].shape == "[2, 3]");
    CHECK(rows[0].module.empty());
    CHECK(rows[0].calls == 2);
    CHECK(rows[0].forward_s > 0);
    CHECK(rows[0].backward_s > 0);
    CHECK(rows[0].bytes == 2 * 3 * 48);  // twice: 24 bytes in, 24 out, and the same twice more in backward
    CHECK(profile->by_op().size() == 1);
    CHECK_THAT(profile->str(), Contains("copied [2, 3]") && Contains("(outside of modules)"));
    profile->reset();
    CHECK(profile->rows().empty());
  }
  CHECK(same_bits(plain, profiled));
}

TEST_CASE("profile: work is charged to the op that follows it, and one profile runs at a time") {
  Profile profile;
  detail::count_flop(1e6);
  copied(Array::ones({4}));
  detail::profile_update("step");
  CHECK(profile.rows().size() == 2);
  CHECK(profile.by_op().front().flop + profile.by_op().back().flop == 1e6);
  CHECK_THROWS_AS(Profile(), ValueError);
}

TEST_CASE("profile: without one nothing is counted") {
  { Profile gone; }
  CHECK_FALSE(detail::profiling());
  copied(Array::ones({4}));
  Profile later;
  CHECK(later.rows().empty());
}
