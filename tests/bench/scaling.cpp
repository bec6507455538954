#include "scaling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tapeform/tapeform.hpp>
#include <vector>

#include "clock.hpp"

namespace bench {

using namespace tapeform;

namespace {

struct Point {
  Dim size;
  double ms, live_mb;
};

struct Curve {
  std::string title, axis;
  std::vector<Point> points;
};

Point measure(Dim size, double seconds, const std::function<void()>& step) {
  for (int i = 0; i < 2; ++i) step();
  reset_peak_memory();
  std::vector<double> times;
  for (const Clock::time_point start = Clock::now(); seconds_since(start) < seconds || times.size() < 3;) {
    const Clock::time_point begin = Clock::now();
    step();
    times.push_back(seconds_since(begin));
  }
  return {size, 1e3 * median(times), static_cast<double>(memory_stats().peak_live_bytes) / (1 << 20)};
}

// Loss and backward of a language model of width 128 on sequences of 64.
Point model_step(Dim size, Dim layers, Dim batch, double seconds) {
  Rng rng(0);
  const nn::CausalLM model(65, rng, {.num_layers = layers, .bias = false});
  Ids ids = Ids::full({batch, 64}, 0);
  ids.write([&](auto values) {
    for (auto& value : values) value = rng.below(65);
  });
  const auto parameters = nn::parameters(model);
  return measure(size, seconds, [&] {
    Tape tape;
    tape.backward(model.loss(ids, ids));
    for (const ParameterRef& parameter : parameters) parameter.grad() = Array();
  });
}

// Forward and backward of the attention op alone, causal, 8 heads of 32.
Point attention_step(Dim time, double seconds) {
  Rng rng(0);
  const Array qkv = normal({1, time, 3 * 256}, 0, 1, rng), dy = normal({1, time, 256}, 0, 1, rng);
  return measure(time, seconds, [&] {
    Tape tape;
    tape.backward(attention_qkv(tape.watch(qkv), {.heads = 8, .mask = Mask::causal()}), dy);
  });
}

constexpr double width = 300, height = 200, left = 80, top = 50, gap = 40;

std::string text(double x, double y, const std::string& words, const char* more = "") {
  char line[256];
  std::snprintf(line, sizeof line, "<text x=\"%.0f\" y=\"%.0f\" %s>%s</text>\n", x, y, more, words.c_str());
  return line;
}

// Both axes from 0, so that a straight line through the origin is proportional cost.
std::string drawn(const Curve& curve, double x0) {
  double most_ms = 0, most_size = 0;
  for (const Point& p : curve.points) most_ms = std::max(most_ms, p.ms), most_size = std::max(most_size, static_cast<double>(p.size));
  std::string out = text(x0, top - 20, curve.title, "font-weight=\"bold\"");
  char line[256];
  std::snprintf(line, sizeof line, "<path d=\"M%.0f %.0fV%.0fH%.0f\" fill=\"none\" stroke=\"#8a919c\"/>\n", x0, top, top + height,
                x0 + width);
  out += line;
  std::string path;
  double labelled = x0 - 100;
  for (const Point& p : curve.points) {
    const double x = x0 + width * static_cast<double>(p.size) / most_size, y = top + height * (1 - p.ms / most_ms);
    std::snprintf(line, sizeof line, "%s%.1f %.1f", path.empty() ? "M" : "L", x, y);
    path += line;
    std::snprintf(line, sizeof line,
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#083b7a\"><title>%s %lld: %.2f ms, %.1f MB live</title></circle>\n", x, y,
                  curve.axis.c_str(), static_cast<long long>(p.size), p.ms, p.live_mb);
    out += line;
    if (x < labelled + 30) continue;  // no room beside the last one
    out += text(x, top + height + 16, std::to_string(p.size), "text-anchor=\"middle\"");
    labelled = x;
  }
  std::snprintf(line, sizeof line, "%.1f ms", most_ms);
  out += text(x0 - 6, top + 10, line, "text-anchor=\"end\"");
  return out + "<path d=\"" + path + "\" fill=\"none\" stroke=\"#083b7a\"/>\n" +
         text(x0 + width / 2, top + height + 34, curve.axis, "text-anchor=\"middle\"");
}

void draw(const std::vector<Curve>& curves, const std::string& picture) {
  const double across = static_cast<double>(curves.size()) * (width + left + gap);
  std::ofstream file(picture);
  file << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << across << "\" height=\"" << top + height + 60
       << "\"><style>text{font:12px sans-serif}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  double x = left;
  for (const Curve& curve : curves) {
    file << drawn(curve, x);
    x += width + left + gap;
  }
  file << "</svg>\n";
  file.close();
  if (!file) throw std::runtime_error(picture + " cannot be written");
}

void print(const Curve& curve) {
  for (const Point& p : curve.points)
    std::printf("%s\n",
                nlohmann::ordered_json{
                    {"scaling", curve.axis}, {"size", p.size}, {"threads", threads()}, {"median_ms", p.ms}, {"live_mb", p.live_mb}}
                    .dump()
                    .c_str());
  std::fflush(stdout);
}

}  // namespace

void scaling(double seconds, const std::string& picture) {
  std::vector<Curve> curves{
      {"A step against depth", "layers", {}}, {"A step against batch", "sequences", {}}, {"Attention against T", "T", {}}};
  for (const Dim layers : {1, 2, 4, 8, 16}) curves[0].points.push_back(model_step(layers, layers, 12, seconds));
  print(curves[0]);
  for (const Dim batch : {4, 8, 16, 32, 64}) curves[1].points.push_back(model_step(batch, 4, batch, seconds));
  print(curves[1]);
  for (const Dim time : {512, 1024, 2048, 4096, 8192}) curves[2].points.push_back(attention_step(time, seconds));
  print(curves[2]);
  draw(curves, picture);
  std::printf("picture: %s\n", picture.c_str());
}

}  // namespace bench
