#include <tapeform/core/error.hpp>

#include "catch.hpp"
#include "message.hpp"
#include "ops/op_table.hpp"

using namespace tapeform;

TEST_CASE("every op of several tensors refuses two dtypes and names both") {
  int refused = 0;
  for (const op_table::Row& row : op_table::rows())
    for (std::size_t other = 0; other < row.inputs.size() && row.inputs.size() > 1; ++other) {
      op_table::Tensors x(row.inputs.begin(), row.inputs.end());
      x[other] = row.inputs[other].cast(DType::float32);
      const std::string text = message<DTypeError>([&] { row.f(x); });
      CAPTURE(row.form, other, text);
      CHECK_THAT(text, Contains("float32") && Contains("float64"));
      CHECK((row.op.starts_with("operator") || text.starts_with(row.op + ": ")));
      ++refused;
    }
  CHECK(refused > 50);
}
