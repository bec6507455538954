#include <tapeform/nn/recorder.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tapeform/core/checkpoint.hpp>
#include <tapeform/core/error.hpp>
#include <tapeform/nn/attention.hpp>

namespace tapeform::nn {

static thread_local AttentionRecorder* innermost = nullptr;

bool detail::AttentionFinder::enter(const char* name, const void* self, const void* type) {
  PathFields::enter(name, self, type);
  if (type == &tapeform::detail::type_tag<MultiHeadAttention>) found.push_back({self, path(), {}});
  return true;
}

bool detail::wants_attention(const MultiHeadAttention* module) noexcept {
  if (tapeform::detail::replaying()) return false;
  for (const AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (const AttentionSite& site : recorder->sites_)
      if (site.module == module) return true;
  return false;
}

void detail::tell_attention(const MultiHeadAttention* module, const Array& weights) {
  for (AttentionRecorder* recorder = innermost; recorder; recorder = recorder->outer_)
    for (AttentionSite& site : recorder->sites_) {
      if (site.module != module) continue;
      if (!recorder->options_.keep_all) site.calls.clear();
      site.calls.push_back(weights);
    }
}

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

std::vector<std::string> AttentionRecorder::names() const {
  std::vector<std::string> names;
  for (const detail::AttentionSite& site : sites_) names.push_back(site.name);
  return names;
}

const std::vector<Array>& AttentionRecorder::calls(const std::string& name) const {
  for (const detail::AttentionSite& site : sites_)
    if (site.name == name) return site.calls;
  throw ValueError(fmt::format("attention_recorder: the model has no attention module '{}'. It has: {}", name, fmt::join(names(), ", ")));
}

const Array& AttentionRecorder::operator[](const std::string& name) const {
  const std::vector<Array>& kept = calls(name);
  if (kept.empty())
    throw ValueError(fmt::format("attention_recorder: '{}' has not been called yet. Call the model while the recorder lives", name));
  return kept.back();
}

void AttentionRecorder::clear() {
  for (detail::AttentionSite& site : sites_) site.calls.clear();
}

}  // namespace tapeform::nn
