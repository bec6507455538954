#pragma once
#include <cstdint>
#include <string>
#include <tapeform/core/array.hpp>
#include <vector>

namespace tapeform {

/// One line of a profile: an op at one output shape in one module.
struct ProfileRow {
  std::string op;
  std::string module;  ///< path of the module that was running; empty outside of modules
  std::string shape;   ///< of the op's result
  std::int64_t calls = 0;
  double forward_s = 0, backward_s = 0;  ///< seconds in all
  double flop = 0;                       ///< multiplications and additions of matrix products, forward and backward
  double bytes = 0;                      ///< inputs read once and results written once, forward and backward: a lower bound of the traffic
};

namespace detail {
struct ProfileState;
}

/// Where the time of a step goes: `Profile profile;` around any step of this thread, then `profile.str()`.
///
/// The time from one op's end to the next one's is the next one's, so whatever lies between (shape checks, a loop of yours) is counted with
/// the op that follows it; updates of optimizers count as ops of their own. Results keep their bits. Without a Profile an op looks at one
/// flag and goes on.
/// @throws ValueError from the constructor when another Profile of this thread is running.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Every op, module and shape, the costliest first.
  std::vector<ProfileRow> rows() const;
  /// The same summed over modules and shapes.
  std::vector<ProfileRow> by_op() const;
  /// Summed by module; a module's line holds what ran in it and not in a module below it.
  std::vector<ProfileRow> by_module() const;
  /// Seconds from the beginning to the last op.
  double seconds() const;
  /// Tables by op and by module: calls, milliseconds forward and backward, share, GFLOP/s, GB/s; `limit` lines each.
  std::string str(int limit = 25) const;
  /// Forgets what was measured so far and starts again.
  void reset();

 private:
  detail::ProfileState* state_;
};

namespace detail {

extern bool profile_running;  // some thread has a Profile; read and written atomically
inline bool profiling() noexcept { return __atomic_load_n(&profile_running, __ATOMIC_RELAXED); }

// Each ends an event that began with the one before it on this thread.
void profile_forward(const char* op, const Array& value, double bytes, std::uint64_t tape, std::uint32_t node);
void profile_backward(const char* op, std::uint64_t tape, std::uint32_t node);
void profile_update(const char* op);
void profile_work(double flop);

/// For matrix kernels: what they are about to compute.
inline void count_flop(double flop) {
  if (profiling()) profile_work(flop);
}

}  // namespace detail
}  // namespace tapeform
