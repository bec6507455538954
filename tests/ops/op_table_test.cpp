#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tapeform/core/gradcheck.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "ops/golden_runners.hpp"
#include "ops/op_table.hpp"

/// docs/ops.md is made here: from what the headers declare, what tapes record, and what the gradient check and the golden cases measure.

using namespace tapeform;
using op_table::Row;
using op_table::Tensors;

namespace {

const std::string root = std::string(TAPEFORM_TESTS_DIR) + "/..";
const std::string page = root + "/docs/ops.md";

/// What core/ops declares, and where: every function at the left margin.
std::map<std::string, std::string> declared() {
  std::map<std::string, std::string> headers;
  const std::regex function(R"(^(?!using|struct|class|enum|namespace)[A-Za-z_][\w:<>,& ]* (operator[^\s(]+|\w+)\(.*)");
  for (const auto& entry : std::filesystem::directory_iterator(root + "/core/ops")) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream in(entry.path());
    std::smatch match;
    for (std::string line; std::getline(in, line);)
      if (std::regex_match(line, match, function)) headers[match[1]] = entry.path().filename().string();
  }
  return headers;
}

/// The worst errors of golden cases in one dtype, by `file/prefix` of their runner.
using GoldenErrors = std::map<std::string, double>;

GoldenErrors golden_errors(DType dtype) {
  const std::pair<const char*, std::vector<golden::Runner>> files[] = {{"ops", golden::op_runners()},
                                                                       {"attention", golden::attention_runners()},
                                                                       {"movement", golden::movement_runners()},
                                                                       {"reductions", golden::reduction_runners()},
                                                                       {"pointwise", golden::pointwise_runners()},
                                                                       {"losses", golden::loss_runners()},
                                                                       {"selection", golden::selection_runners()}};
  GoldenErrors errors;
  for (const auto& [file, runners] : files)
    for (const auto& [prefix, error] : golden::run_file(file, dtype, runners)) errors[std::string(file) + "/" + prefix] = error;
  return errors;
}

std::vector<std::string> runners_of(const Row& row) {
  std::vector<std::string> runners;
  std::istringstream words(row.golden);
  for (std::string word; words >> word;) runners.push_back(word);
  return runners;
}

/// One line of the table. Errors are numbers where something was measured.
struct Line {
  std::vector<std::string> cells;  // op, header, forward, backward, dtypes
  double gradcheck = -1, golden64 = -1, golden32 = -1;
  std::string instead = {};  // of an error of golden cases
};

struct Runs {
  std::size_t inputs_with_gradient = 0;
  bool recorded = false;
};

/// One call, forward and backward, in one dtype.
Runs run(const Row& row, DType dtype) {
  Rng rng(1);
  Tape tape(rng);
  Tensors x;
  for (const Array& input : row.inputs) x.push_back(tape.watch(input.cast(dtype)));
  const Tensor y = row.f(x);
  Runs runs{.recorded = y.recorded()};
  INFO(row.form << " in " << name(dtype));
  if (!row.inputs.empty() && (row.result == "Tensor" || row.result == "Array")) CHECK(y.dtype() == dtype);
  if (!y.recorded()) return runs;
  tape.backward(y, Array::ones(y.shape(), dtype));
  for (const Tensor& each : x) runs.inputs_with_gradient += static_cast<bool>(tape.grad(each));
  return runs;
}

double worst_golden(const Row& row, const GoldenErrors& errors) {
  double worst = 0;
  for (const std::string& runner : runners_of(row)) {
    INFO(row.form << ": golden cases of " << runner);
    const auto found = errors.find(runner);
    if (found == errors.end()) {
      FAIL_CHECK("no such cases");
    } else {
      worst = std::max(worst, found->second);
    }
  }
  return worst;
}

Line measure(const Row& row, const std::string& header, const GoldenErrors& errors64, const GoldenErrors& errors32) {
  const Runs in64 = run(row, DType::float64), in32 = run(row, DType::float32);
  CHECK(in64.inputs_with_gradient == in32.inputs_with_gradient);
  Line line{.cells = {fmt::format("`{}`", row.form), fmt::format("`{}`", header)}};
  if (in64.recorded) {
    const GradcheckReport report = gradcheck(row.f, row.inputs);
    INFO(report.str());
    CHECK(report.ok());
    line.gradcheck = report.error;
    std::string ops;
    for (const std::string& op : report.ops) ops += (ops.empty() ? "`" : ", `") + op + "`";
    line.cells.push_back(ops);
    line.cells.push_back(fmt::format("{} of {}", in64.inputs_with_gradient, row.inputs.size()));
  } else {
    line.cells.push_back("gives `" + row.result + "`");
    line.cells.push_back("none");
  }
  line.cells.push_back(row.inputs.empty() ? "int64" : "float32, float64");
  if (row.golden.starts_with("none: ")) {
    line.instead = row.golden;
  } else {
    line.golden64 = worst_golden(row, errors64);
    line.golden32 = worst_golden(row, errors32);
  }
  return line;
}

/// What an error is rounded up to, how small a bound may be, and what no error may exceed.
struct Scale {
  double smallest, limit;
};
constexpr Scale of_gradcheck{1e-12, 1e-11}, of_float64{1e-14, 1e-12}, of_float32{1e-6, 1e-5};  // differences have noise of 1e-13

/// A bound that other processors keep too: the power of ten over three times the error.
std::string bound(double error, const Scale& scale) {
  const double power = std::ceil(std::log10(std::max(3 * error, scale.smallest)) - 1e-9);
  return fmt::format("1e{:.0f}", std::min(power, std::log10(scale.limit)));
}

/// The same of golden cases, and 0 where not a bit differs.
std::string golden_bound(const Line& line, double error, const Scale& scale) {
  if (error < 0) return line.instead;
  return error == 0 ? "0" : bound(error, scale);
}

std::string row_of(const Line& line) {
  std::string text = "|";
  for (const std::string& cell : line.cells) text += " " + cell + " |";
  text += " " + (line.gradcheck < 0 ? "none" : bound(line.gradcheck, of_gradcheck)) + " | ";
  return text + golden_bound(line, line.golden64, of_float64) + " | " + golden_bound(line, line.golden32, of_float32) + " |";
}

std::vector<Line> measured() {
  const auto headers = declared();
  const GoldenErrors errors64 = golden_errors(DType::float64), errors32 = golden_errors(DType::float32);
  std::vector<Line> lines;
  for (const Row& row : op_table::rows()) {
    const auto header = headers.find(row.op);
    INFO(row.op << " is declared in core/ops");
    REQUIRE(header != headers.end());
    lines.push_back(measure(row, header->second, errors64, errors32));
  }
  return lines;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_row(const std::string& line) { return line.starts_with("| `"); }

std::vector<std::vector<std::string>> written() {
  std::vector<std::vector<std::string>> table;
  for (const std::string& line : lines_of(page)) {
    if (!is_row(line)) continue;
    std::vector<std::string> cells;
    for (std::size_t begin = 2, end; (end = line.find(" |", begin)) != std::string::npos; begin = end + 3)
      cells.push_back(line.substr(begin, end - begin));
    table.push_back(cells);
  }
  return table;
}

/// What was measured against a cell that states a bound. A cell that says 0 stands for equal bits, of which a last one may differ on
/// another processor.
void check_error(const std::string& cell, double error, const std::string& instead, const Scale& scale) {
  if (error < 0) {
    CHECK(cell == instead);
    return;
  }
  INFO("measured " << error << ", stated " << cell);
  std::size_t used = 0;
  const double stated = std::stod(cell, &used);
  CHECK(used == cell.size());
  CHECK(stated <= scale.limit);
  CHECK(error <= std::max(stated, scale.smallest / 10));
}

}  // namespace

TEST_CASE("ops: docs/ops.md has every public op, every golden case is one of an op, and no cell is blank") {
  std::set<std::string> ops, in_rows, runners;
  for (const auto& [op, header] : declared()) ops.insert(op);
  for (const Row& row : op_table::rows()) {
    in_rows.insert(row.op);
    for (const std::string& runner : runners_of(row)) runners.insert(runner);
  }
  CHECK(ops.size() > 90);
  CHECK(in_rows == ops);
  for (const auto& [runner, error] : golden_errors(DType::float64)) {
    INFO(runner);
    CHECK(runners.contains(runner));
  }
  const auto table = written();
  CHECK(table.size() == op_table::rows().size());
  for (const auto& cells : table) {
    INFO(cells.at(0));
    CHECK(cells.size() == 8);
    for (const std::string& cell : cells) CHECK(cell.find_first_not_of(' ') != std::string::npos);
  }
}

TEST_CASE("ops: what is measured is what docs/ops.md says, or better") {
  const auto table = written();
  const std::vector<Line> lines = measured();
  REQUIRE(table.size() == lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    INFO(row_of(line));
    REQUIRE(table[i].size() == 8);
    CHECK(std::vector<std::string>(table[i].begin(), table[i].begin() + 5) == line.cells);
    check_error(table[i][5], line.gradcheck, "none", of_gradcheck);
    check_error(table[i][6], line.golden64, line.instead, of_float64);
    check_error(table[i][7], line.golden32, line.instead, of_float32);
  }
}

TEST_CASE("write the table of docs/ops.md", "[.][table]") {
  const std::vector<Line> lines = measured();
  std::string text;
  bool done = false;
  for (const std::string& line : lines_of(page)) {
    if (!is_row(line)) text += line + "\n";
    if (done || !line.starts_with("|---")) continue;
    for (const Line& each : lines) text += row_of(each) + "\n";
    done = true;
  }
  REQUIRE(done);
  std::ofstream out(page);
  out << text;
  CHECK(out.flush());
}
