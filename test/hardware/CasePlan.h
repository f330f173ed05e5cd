//===- CasePlan.h - What gpu-case runs, and how far results may lie apart -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// plan.txt, a line each:
//   rounding BITS                              products round their factors of f32 to so many bits
//                                              (tf32: 11); optional
//   run LABEL                                  then its inputs and outputs in the model's order
//   in DTYPE DIM... = file                     data in inputs.bin, one after another, in the
//                                              dtype's own format
//   in DTYPE DIM... = noise SEED SCALE OFFSET  SCALE times numbers in [-2, 2), small ones more
//                                              often; OFFSET > 0: the absolute value of that, plus
//                                              OFFSET
//   in DTYPE DIM... = integers SEED LOW HIGH   whole numbers from LOW to HIGH
//   out NAME exact                             the same value, of zeros the same sign; NaN where
//                                              NaN is
//   out NAME within RELATIVE ABSOLUTE          |actual - expected| <= RELATIVE |expected| +
//                                              ABSOLUTE
//   out NAME roundings COUNT                   so many roundings of the largest finite value
// Integers are always exact. A value that equals the expected one, infinities too, is right
// whatever the rule; NaN where NaN is. NAME has no spaces. make_folder.py makes the same noise,
// from which it computes RELATIVE and ABSOLUTE.
//===----------------------------------------------------------------------===//
#ifndef DLC_TEST_HARDWARE_CASEPLAN_H
#define DLC_TEST_HARDWARE_CASEPLAN_H

#include "dlc/runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dlc::hardware {

struct Input {
  dlc_dtype dtype;
  std::vector<int64_t> dims;
  std::vector<char> data;
};

/// How far a value may lie from the expected one: RELATIVE |expected| + ABSOLUTE + ROUNDINGS u
/// max|expected|.
struct Rule {
  bool isExact = false;
  double relative = 0, absolute = 0, roundings = 0;
};

struct Output {
  std::string name;
  Rule rule;
};

struct Run {
  std::string label;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

struct CasePlan {
  std::vector<Run> runs;
  int roundingBits = 24; ///< of factors of f32
};

/// Reads FOLDER/plan.txt and inputs.bin, and makes the inputs. The sentence about what is wrong;
/// empty where all is well.
std::string readPlan(const std::string &folder, CasePlan &plan);

/// Unit roundoff of a float type, 2^-BITS for f32 where products round their factors; 0 for
/// integers.
double unitOf(dlc_dtype dtype, int roundingBits);

/// Empty, or "3 of 20 values are wrong: value 7 is 0.5, expected 0.25 within 1e-06". `bytes` of
/// both.
std::string difference(dlc_dtype dtype, const Rule &rule, int roundingBits, const void *actual,
                       const void *expected, size_t bytes);

} // namespace dlc::hardware

#endif // DLC_TEST_HARDWARE_CASEPLAN_H
