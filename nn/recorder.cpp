#include <tapeform/nn/recorder.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapeform/core/checkpoint.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/nn/causal_lm.hpp>

namespace tapeform::nn {

static thread_local AttentionRecorder* innermost = nullptr;
static thread_local bool stepping = false;

const char* name(AttentionKind kind) noexcept {
  switch (kind) {
    case AttentionKind::encoder_self:
      return "encoder self-attention";
    case AttentionKind::decoder_self:
      return "decoder self-attention";
    case AttentionKind::cross:
      return "cross-attention";
    case AttentionKind::other:
      break;
  }
  return "attention";
}

namespace detail {

AttentionKind AttentionFinder::kind(const char* name) const {
  using tapeform::detail::type_tag;
  const void* const parent = types_.empty() ? nullptr : types_.back();
  if (parent == &type_tag<TransformerDecoderLayer>)
    return std::string("multihead_attn") == name ? AttentionKind::cross : AttentionKind::decoder_self;
  if (parent != &type_tag<TransformerEncoderLayer>) return AttentionKind::other;
  const bool decodes = std::ranges::find(types_, &type_tag<CausalLM>) != types_.end();
  return decodes ? AttentionKind::decoder_self : AttentionKind::encoder_self;
}

bool AttentionFinder::enter(const char* name, const void* self, const void* type) {
  PathFields::enter(name, self, type);
  if (type == &tapeform::detail::type_tag<MultiHeadAttention>) {
    const AttentionKind of = kind(name);
    const auto before = std::ranges::count_if(found, [of](const AttentionSite& site) { return site.place.kind == of; });
    found.push_back({self, {path(), of, static_cast<Dim>(before)}, {}, {}, {}});
  }
  types_.push_back(type);
  return true;
}

void AttentionFinder::leave() {
  types_.pop_back();
  PathFields::leave();
}

bool wants_attention(const MultiHeadAttention* module) noexcept {
  if (tapeform::detail::replaying()) return false;
  for (const AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (const AttentionSite& site : recorder->sites_)
      if (site.module == module) return true;
  return false;
}

void tell_attention(const MultiHeadAttention* module, const Array& weights) {
  for (AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (AttentionSite& site : recorder->sites_) {
      if (site.module != module) continue;
      site.heads = {};
      if (stepping)
        site.steps.push_back(weights);
      else
        recorder->keep(site, weights);
    }
}

bool wants_heads(const MultiHeadAttention* module) noexcept {
  for (const AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (const AttentionSite& site : recorder->sites_)
      if (site.module == module && recorder->options_.keep_heads) return true;
  return false;
}

void tell_heads(const MultiHeadAttention* module, const AttentionHeads& heads) {
  for (AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (AttentionSite& site : recorder->sites_)
      if (site.module == module && recorder->options_.keep_heads) site.heads = heads;
}

namespace {

/// How many queries of one row of a step, [1, H, n, Tk], are there: of prompts with several lengths the shorter ones end in rows of zeros.
template <class T>
Dim queries(const Array& row) {
  const Dim heads = row.dim(1), width = row.dim(3);
  Dim count = row.dim(2);
  const auto sees_nothing = [&row, heads, width](Dim i) {
    for (Dim h = 0; h < heads; ++h) {
      const T* const weights = row.data<T>() + (h * row.dim(2) + i) * width;
      if (std::any_of(weights, weights + width, [](T weight) { return weight != 0; })) return false;
    }
    return true;
  };
  while (count > 1 && sees_nothing(count - 1)) --count;
  return count;
}

/// What of one row of a step, [1, H, n, Tk], goes into the call of all steps: `count` queries from `first` on, at query `begin`, with
/// `width` keys, at key `shift`.
struct Piece {
  Dim begin, first, count, shift, width;
};

/// Calls `f(s, row, piece)` for every step of every sequence s.
///
/// A language model that has met its max_len reads its last ids anew: the step then tells a whole window, of which the last query is new
/// and the first key is no longer the sequence's first.
template <class T, class F>
void each_step(const std::vector<Array>& steps, const std::vector<std::vector<Dim>>& rows, bool self, const F& f) {
  for (std::size_t s = 0; s < rows.size(); ++s) {
    Dim begin = 0;
    for (std::size_t t = 0; t < std::min(rows[s].size(), steps.size()); ++t) {
      const Array row = steps[t].rows(rows[s][t], rows[s][t] + 1);
      const Dim count = queries<T>(row);
      const bool window = t > 0 && (count > 1 || (self && row.dim(3) <= begin));
      const Piece piece = window ? Piece{begin, count - 1, 1, begin + 1 - count, count} : Piece{begin, 0, count, 0, row.dim(3)};
      f(static_cast<Dim>(s), row, piece);
      begin += piece.count;
    }
  }
}

/// Steps [R, H, n, Tk], with R, n and Tk of their own, as one [S, H, most queries, longest Tk].
template <class T>
Array joined(const std::vector<Array>& steps, const std::vector<std::vector<Dim>>& rows, bool self) {
  const Dim heads = steps[0].dim(1);
  Dim q_time = 0, k_time = 0;
  each_step<T>(steps, rows, self, [&q_time, &k_time](Dim, const Array&, const Piece& piece) {
    q_time = std::max(q_time, piece.begin + piece.count);
    k_time = std::max(k_time, piece.shift + piece.width);
  });
  Array call = Array::zeros({static_cast<Dim>(rows.size()), heads, q_time, k_time}, steps[0].dtype());
  T* const to = call.mutable_data<T>();
  each_step<T>(steps, rows, self, [to, heads, q_time, k_time](Dim s, const Array& row, const Piece& piece) {
    for (Dim h = 0; h < heads; ++h)
      for (Dim i = 0; i < piece.count; ++i)
        std::copy_n(row.data<T>() + (h * row.dim(2) + piece.first + i) * row.dim(3), piece.width,
                    to + ((s * heads + h) * q_time + piece.begin + i) * k_time + piece.shift);
  });
  return call;
}

}  // namespace

AttentionSteps::Step::Step() noexcept : outer_(std::exchange(stepping, true)) {}

AttentionSteps::Step::~Step() { stepping = outer_; }

AttentionSteps::~AttentionSteps() {
  for (AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (AttentionSite& site : recorder->sites_) site.steps.clear();
}

bool AttentionSteps::wanted() noexcept { return innermost != nullptr; }

void AttentionSteps::join(const std::vector<std::vector<Dim>>& rows) const {
  for (AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (AttentionSite& site : recorder->sites_) {
      if (site.steps.empty()) continue;
      const bool self = site.place.kind == AttentionKind::decoder_self;
      recorder->keep(site, dispatch(site.steps[0].dtype(), [&site, &rows, self]<class T>(T) { return joined<T>(site.steps, rows, self); }));
      site.steps.clear();
    }
}

}  // namespace detail

AttentionRecorder::AttentionRecorder(std::vector<detail::AttentionSite> sites, const Options& options)
    : sites_(std::move(sites)), options_(options), outer_(innermost) {
  if (sites_.empty()) throw ValueError("attention_recorder: the model has no MultiHeadAttention");
  innermost = this;
}

AttentionRecorder::~AttentionRecorder() {
  AttentionRecorder** link = &innermost;
  while (*link && *link != this) link = &(*link)->outer_;
  if (*link) *link = outer_;
}

void AttentionRecorder::keep(detail::AttentionSite& site, Array weights) const {
  if (!options_.keep_all) site.calls.clear();
  site.calls.push_back(std::move(weights));
}

std::vector<AttentionPlace> AttentionRecorder::places() const {
  std::vector<AttentionPlace> places;
  for (const detail::AttentionSite& site : sites_) places.push_back(site.place);
  return places;
}

std::vector<std::string> AttentionRecorder::names() const {
  std::vector<std::string> names;
  for (const detail::AttentionSite& site : sites_) names.push_back(site.place.name);
  return names;
}

std::vector<std::string> AttentionRecorder::names(AttentionKind kind) const {
  std::vector<std::string> names;
  for (const detail::AttentionSite& site : sites_)
    if (site.place.kind == kind) names.push_back(site.place.name);
  return names;
}

const detail::AttentionSite& AttentionRecorder::site(const std::string& name) const {
  for (const detail::AttentionSite& site : sites_)
    if (site.place.name == name) return site;
  throw ValueError(fmt::format("attention_recorder: the model has no attention module '{}'. It has: {}", name, fmt::join(names(), ", ")));
}

const std::vector<Array>& AttentionRecorder::calls(const std::string& name) const { return site(name).calls; }

const AttentionHeads& AttentionRecorder::heads(const std::string& name) const {
  const AttentionHeads& heads = site(name).heads;
  if (!heads.out)
    throw ValueError(fmt::format(
        "attention_recorder: nothing was kept of the heads of '{}'. Give the recorder {{.keep_heads = true}} and call the whole model",
        name));
  return heads;
}

const Array& AttentionRecorder::operator[](const std::string& name) const {
  const std::vector<Array>& kept = calls(name);
  if (kept.empty())
    throw ValueError(fmt::format("attention_recorder: '{}' has not been called yet. Call the model while the recorder lives", name));
  return kept.back();
}

void AttentionRecorder::clear() {
  for (detail::AttentionSite& site : sites_) {
    site.calls.clear();
    site.heads = {};
  }
}

}  // namespace tapeform::nn
