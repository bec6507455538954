#include <cmath>
#include <limits>
#include <sstream>
#include <tapeform/core/error.hpp>
#include <tapeform/core/parameter.hpp>
#include <tapeform/core/print.hpp>
#include <tapeform/core/tape.hpp>

#include "catch.hpp"
#include "message.hpp"

using namespace tapeform;

namespace {

Array counted(const Shape& shape, DType dtype = DType::float32) {
  Array x(shape, dtype);
  dispatch(dtype, [&]<class T>(T) {
    for (Dim i = 0; i < x.numel(); ++i) x.mutable_data<T>()[i] = static_cast<T>(i);
  });
  return x;
}

}  // namespace

TEST_CASE("print: numbers stand in columns, with dtype and shape") {
  CHECK(to_string(Array::of({2, 2}, {1, 2.25, 3, 4})) == "[[1.  , 2.25],\n [3.  , 4.  ]] float32 [2, 2]");
  CHECK(to_string(Array::of({3}, {1, -20, 3}, DType::float64)) == "[  1., -20.,   3.] float64 [3]");
  CHECK(to_string(counted({2, 2, 2})) == "[[[0., 1.],\n  [2., 3.]],\n\n [[4., 5.],\n  [6., 7.]]] float32 [2, 2, 2]");
  CHECK(to_string(Array::full({}, 0.5)) == "0.5 float32 []");
  CHECK(to_string(Array::of({2}, {0.1, 0.7})) == "[0.1, 0.7] float32 [2]");
  CHECK(to_string(Array::zeros({1, 1, 1, 1, 1, 1, 1, 1})) == "[[[[[[[[0.]]]]]]]] float32 [1, 1, 1, 1, 1, 1, 1, 1]");
}

TEST_CASE("print: empty arrays and nothing are told apart") {
  CHECK(to_string(Array::zeros({0, 3})) == "[] float32 [0, 3]");
  CHECK(to_string(Array::zeros({3, 0}, DType::float64)) == "[] float64 [3, 0]");
  CHECK(to_string(Array()) == "nothing");
  CHECK(to_string(Tensor()) == "nothing");
  CHECK(to_string(Ids()) == "[] ids [0]");
}

TEST_CASE("print: sizes that differ widely get an exponent; infinities and NaN keep their column") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(to_string(Array::of({2}, {1e10, 2.5}, DType::float64)) == "[1.0e+10, 2.5e+00] float64 [2]");
  CHECK(to_string(Array::of({2}, {1e-7, 1}, DType::float64)) == "[1e-07, 1e+00] float64 [2]");
  CHECK(to_string(Array::of({4}, {inf, -inf, std::nan(""), 1.5})) == "[ inf, -inf,  nan,  1.5] float32 [4]");
  CHECK(to_string(Array::of({2}, {1.23456789, 100}, DType::float64), {.precision = 3}) == "[  1.235, 100.   ] float64 [2]");
  CHECK(to_string(Array::full({1}, -0.0)) == "[-0.] float32 [1]");
}

TEST_CASE("print: over 1,000 elements the middle of every long axis is left out") {
  const Array whole = counted({1000});
  CHECK(to_string(whole).find("...") == std::string::npos);
  CHECK(to_string(counted({1001})) == "[   0.,    1.,    2., ...,  998.,  999., 1000.] float32 [1001]");
  CHECK(to_string(counted({100, 11})) ==
        "[[   0.,    1.,    2., ...,    8.,    9.,   10.],\n [  11.,   12.,   13., ...,   19.,   20.,   21.],\n"
        " [  22.,   23.,   24., ...,   30.,   31.,   32.],\n ...,\n [1067., 1068., 1069., ..., 1075., 1076., 1077.],\n"
        " [1078., 1079., 1080., ..., 1086., 1087., 1088.],\n [1089., 1090., 1091., ..., 1097., 1098., 1099.]] float32 [100, 11]");
  CHECK(to_string(counted({4}), {.threshold = 3, .edge = 1}) == "[0., ..., 3.] float32 [4]");
  CHECK(to_string(counted({3, 3}), {.threshold = 3, .edge = 1}).find("...") == std::string::npos);  // an ellipsis for one is no gain
}

TEST_CASE("print: a long row goes on in the next line") {
  CHECK(to_string(counted({2, 12}), {.width = 20}) ==
        "[[ 0.,  1.,  2.,\n   3.,  4.,  5.,\n   6.,  7.,  8.,\n   9., 10., 11.],\n [12., 13., 14.,\n  15., 16., 17.,\n  18., 19., 20.,\n"
        "  21., 22., 23.]] float32 [2, 12]");
}

TEST_CASE("print: a tensor on a tape says that it is recorded") {
  const Parameter p(Array::ones({2}));
  CHECK(to_string(Tensor(p)) == "[1., 1.] float32 [2]");
  Tape tape;
  CHECK(to_string(Tensor(p)) == "[1., 1.] float32 [2], recorded");
  CHECK(to_string(stop_gradient(p)) == "[1., 1.] float32 [2]");
}

TEST_CASE("print: ids, and streams") {
  CHECK(to_string(Ids::rows({{1, -20}, {300, 4}})) == "[[  1, -20],\n [300,   4]] ids [2, 2]");
  std::ostringstream out;
  out << Array::ones({2}) << '\n' << Tensor(Array::ones({1})) << '\n' << Ids{1, 2} << '\n' << Shape{2, 3};
  CHECK(out.str() == "[1., 1.] float32 [2]\n[1.] float32 [1]\n[1, 2] ids [2]\n[2, 3]");
  CHECK(message<ValueError>([] { to_string(Array::ones({1}), {.precision = -1}); }) ==
        "to_string: precision, edge and width must not be negative; got -1, 3, 100");
}
