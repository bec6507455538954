#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parallel.hpp>
#include <thread>
#include <vector>

namespace tapeform {
namespace {

constexpr int most_threads = 1024;

int processors_of_machine() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::atomic<int> known_processors{0};  // 0: not asked yet

int processors() {
  if (const int known = known_processors.load(std::memory_order_relaxed); known > 0) return known;
  const int count = processors_of_machine();
  known_processors.store(count, std::memory_order_relaxed);
  return count;
}

int threads_of_environment() {
  const char* const text = std::getenv("TAPEFORM_THREADS");
  if (!text || !*text) return processors_of_machine();
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end || count < 1 || count > most_threads)
    throw ValueError(fmt::format("TAPEFORM_THREADS: a number from 1 to {}; got '{}'", most_threads, text));
  return static_cast<int>(count);
}

std::atomic<int> chosen_threads{0};  // 0: what the environment says

std::atomic<std::uint64_t> helper_chunks{0};
thread_local bool inside = false;  // this thread is running a chunk: nested calls stay on it

// One piece of parallel work: threads take its chunks from a counter until there are none.
struct Job {
  Dim chunks = 0;
  void* context = nullptr;
  void (*run)(void*, Dim) = nullptr;
  std::atomic<Dim> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;

  Dim work() noexcept {
    Dim done = 0;
    inside = true;
    for (Dim chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks; ++done) {
      try {
        run(context, chunk);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next.store(chunks, std::memory_order_relaxed);
      }
    }
    inside = false;
    return done;
  }
};

// Helper threads, started when first needed. A job is offered by raising `generation`; helpers look for it for a moment, then sleep.
class Pool {
 public:
  std::mutex owner;  // one job at a time; a second caller runs its own work alone

  void run(Job& job, int helpers) {
    start(helpers);
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      places_ = helpers;
      generation_.fetch_add(1, std::memory_order_release);
    }
    for (int i = 0; i < helpers; ++i) wake_.notify_one();
    job.work();
    // No helper may enter any more, and those inside must leave, before the job's frame goes away.
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    places_ = 0;
    if (busy_.load(std::memory_order_acquire) == 0) return;
    lock.unlock();
    for (int spin = 0; busy_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < spins)
        pause();
      else
        std::this_thread::yield();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
  }

 private:
  static constexpr int spins = 4000;

  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  void start(int helpers) {
    while (static_cast<int>(helpers_.size()) < helpers) {
      try {
        helpers_.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {  // the system gives no more threads: those that there are do the work
        return;
      }
    }
  }

  void serve() {
    std::uint64_t seen = 0;
    for (int spin = 0;;) {
      std::uint64_t now = seen;
      for (; spin < spins && (now = generation_.load(std::memory_order_acquire)) == seen; ++spin) pause();
      if (now != seen && places_.load(std::memory_order_relaxed) == 0 && !stopping_.load(std::memory_order_relaxed)) {
        seen = now;  // all places are taken: no need of the lock
        ++spin;
        continue;
      }
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
      seen = generation_.load(std::memory_order_relaxed);
      if (stopping_) return;
      if (!job_ || places_ == 0) continue;
      Job* const job = job_;
      --places_;
      spin = 0;
      busy_.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      const Dim done = job->work();
      helper_chunks.fetch_add(static_cast<std::uint64_t>(done), std::memory_order_relaxed);
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<int> busy_{0};
  Job* job_ = nullptr;
  std::atomic<int> places_{0};  // for helpers in the job
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> helpers_;
};

Pool* pool_instance = nullptr;
std::mutex pool_mutex;

// A child of fork has none of the parent's threads: it leaves the old pool alone (its memory stays) and starts its own.
void forget_pool_in_child() {
  pool_instance = nullptr;
  new (&pool_mutex) std::mutex;
  inside = false;
}

// Ends the helpers with the process. Where exit() is called from a chunk, or while another thread has them work, nobody can wait for
// them. The pool itself stays, locked: a thread that works on until the process is gone finds it taken and works alone.
void end_pool() {
  if (pool_instance && !inside && pool_instance->owner.try_lock()) pool_instance->stop();
}

Pool& pool() {
  const std::lock_guard lock(pool_mutex);
  if (!pool_instance) {
    static const int registered = pthread_atfork(nullptr, nullptr, forget_pool_in_child);
    (void)registered;
    pool_instance = new Pool;
    std::atexit(end_pool);
  }
  return *pool_instance;
}

}  // namespace

int threads() {
  if (const int chosen = chosen_threads.load(std::memory_order_relaxed); chosen > 0) return chosen;
  const int count = threads_of_environment();
  chosen_threads.store(count, std::memory_order_relaxed);
  return count;
}

void set_threads(int count) {
  if (count < 1 || count > most_threads) throw ValueError(fmt::format("set_threads: 1 to {}; got {}", most_threads, count));
  chosen_threads.store(count, std::memory_order_relaxed);
}

std::uint64_t chunks_run_by_helpers() noexcept { return helper_chunks.load(std::memory_order_relaxed); }

namespace detail {

void throw_grain(Dim grain) { throw ValueError(fmt::format("parallel_for: grain must be at least 1; got {}", grain)); }

void set_processors(int count) noexcept { known_processors.store(count, std::memory_order_relaxed); }

void run_chunks(Dim chunks, void* context, void (*run)(void*, Dim)) {
  const int helpers = static_cast<int>(std::min<Dim>(std::min(threads(), processors()), chunks)) - 1;
  if (helpers > 0 && !inside) {
    Pool& shared = pool();
    if (const std::unique_lock lock(shared.owner, std::try_to_lock); lock) {
      Job job;
      job.chunks = chunks;
      job.context = context;
      job.run = run;
      shared.run(job, helpers);
      if (job.failure) std::rethrow_exception(job.failure);
      return;
    }
  }
  for (Dim chunk = 0; chunk < chunks; ++chunk) run(context, chunk);
}

}  // namespace detail
}  // namespace tapeform
