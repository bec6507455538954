#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <tapeform/core/call_path.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/core/profile.hpp>
#include <tuple>
#include <utility>

namespace tapeform {

namespace detail {

using Clock = std::chrono::steady_clock;

struct ProfileState {
  struct Recorded {
    ProfileRow* row;
    double bytes;
  };

  Clock::time_point last = Clock::now();
  double seconds = 0;
  double flop = 0;                                                               // since the last event
  std::map<std::tuple<std::string, std::string, std::string>, ProfileRow> rows;  // by op, module, shape
  std::map<std::pair<std::uint64_t, std::uint32_t>, Recorded> nodes;             // whose backward belongs to which row

  ProfileRow& row(const char* op, std::string shape) {
    std::string path = current_path();
    ProfileRow& found = rows[{op, path, shape}];
    if (found.op.empty()) {
      found.op = op;
      found.module = std::move(path);
      found.shape = std::move(shape);
    }
    return found;
  }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - last).count(); }
  // The clock starts again only here, so that the profile's own work is nobody's.
  void end_event(ProfileRow& row, double event_seconds) {
    seconds += event_seconds;
    row.flop += std::exchange(flop, 0.0);
    last = Clock::now();
  }
};

bool profile_running = false;

namespace {
thread_local ProfileState* mine = nullptr;
int profiles = 0;
}  // namespace

void profile_forward(const char* op, const Array& value, double bytes, std::uint64_t tape, std::uint32_t node) {
  if (!mine) return;
  const double elapsed = mine->elapsed();
  ProfileRow& row = mine->row(op, value.shape().str());
  ++row.calls;
  row.forward_s += elapsed;
  row.bytes += bytes;
  if (tape != 0) mine->nodes[{tape, node}] = {&row, bytes};
  mine->end_event(row, elapsed);
}

void profile_backward(const char* op, std::uint64_t tape, std::uint32_t node) {
  if (!mine) return;
  const double elapsed = mine->elapsed();
  const auto known = mine->nodes.find({tape, node});
  ProfileRow& row = known != mine->nodes.end() ? *known->second.row : mine->row(op, "");
  row.backward_s += elapsed;
  if (known != mine->nodes.end()) {
    row.bytes += 2 * known->second.bytes;  // inputs and the gradient are read, gradients of the inputs are written
    mine->nodes.erase(known);
  }
  mine->end_event(row, elapsed);
}

void profile_update(const char* op) {
  if (!mine) return;
  const double elapsed = mine->elapsed();
  ProfileRow& row = mine->row(op, "");
  ++row.calls;
  row.forward_s += elapsed;
  mine->end_event(row, elapsed);
}

void profile_work(double flop) {
  if (mine) mine->flop += flop;
}

}  // namespace detail

Profile::Profile() {
  if (detail::mine) throw ValueError("Profile: another one is running on this thread. End its scope first");
  state_ = detail::mine = new detail::ProfileState;
  __atomic_add_fetch(&detail::profiles, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&detail::profile_running, true, __ATOMIC_RELAXED);
}

Profile::~Profile() {
  detail::mine = nullptr;
  if (__atomic_sub_fetch(&detail::profiles, 1, __ATOMIC_RELAXED) == 0) __atomic_store_n(&detail::profile_running, false, __ATOMIC_RELAXED);
  delete state_;
}

void Profile::reset() { *state_ = detail::ProfileState(); }
double Profile::seconds() const { return state_->seconds; }

static double seconds_of(const ProfileRow& row) { return row.forward_s + row.backward_s; }

// Adds up the rows that `key` gives one text, the costliest sum first.
template <class Key>
static std::vector<ProfileRow> summed(const detail::ProfileState& state, Key key) {
  std::map<std::string, ProfileRow> sums;
  for (const auto& [names, row] : state.rows) {
    ProfileRow& sum = sums.try_emplace(key(row)).first->second;
    sum.calls += row.calls;
    sum.forward_s += row.forward_s;
    sum.backward_s += row.backward_s;
    sum.flop += row.flop;
    sum.bytes += row.bytes;
  }
  std::vector<ProfileRow> rows;
  for (auto& [text, sum] : sums) {
    sum.op = text;
    rows.push_back(std::move(sum));
  }
  std::ranges::sort(rows, std::ranges::greater(), seconds_of);
  return rows;
}

std::vector<ProfileRow> Profile::rows() const {
  std::vector<ProfileRow> rows;
  for (const auto& [names, row] : state_->rows) rows.push_back(row);
  std::ranges::sort(rows, std::ranges::greater(), seconds_of);
  return rows;
}

std::vector<ProfileRow> Profile::by_op() const {
  return summed(*state_, [](const ProfileRow& row) { return row.op; });
}

std::vector<ProfileRow> Profile::by_module() const {
  std::vector<ProfileRow> rows = summed(*state_, [](const ProfileRow& row) { return row.module; });
  for (ProfileRow& row : rows) row.module = std::exchange(row.op, "");
  return rows;
}

static void add_table(std::string& text, const char* title, const std::vector<ProfileRow>& rows, double total, int limit) {
  // fmt::format is compiled into fmt's own library; format_to would put 150 kB of it into this one.
  text += fmt::format("{:<44} {:>7} {:>11} {:>11} {:>7} {:>9} {:>7}\n", title, "calls", "forward ms", "backward ms", "share", "GFLOP/s",
                      "GB/s");
  for (const ProfileRow& row : rows) {
    if (limit-- <= 0) break;
    const double seconds = seconds_of(row);
    std::string what = row.op.empty() ? row.module : row.op;
    if (!row.shape.empty()) what = fmt::format("{} {} {}", row.op, row.shape, row.module);
    if (what.empty()) what = "(outside of modules)";
    if (what.size() > 44) what.replace(43, std::string::npos, 1, '~');
    const auto rate = [seconds](double amount) {
      return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds / 1e9) : std::string("-");
    };
    text += fmt::format("{:<44} {:>7} {:>11.3f} {:>11.3f} {:>6.1f}% {:>9} {:>7}\n", what, row.calls, 1e3 * row.forward_s,
                        1e3 * row.backward_s, total > 0 ? 100 * seconds / total : 0.0, rate(row.flop), rate(row.bytes));
  }
}

std::string Profile::str(int limit) const {
  std::string text;
  add_table(text, "op", by_op(), seconds(), limit);
  text += '\n';
  add_table(text, "module", by_module(), seconds(), limit);
  text += '\n';
  add_table(text, "op, shape of its result, module", rows(), seconds(), limit);
  return text;
}

}  // namespace tapeform
