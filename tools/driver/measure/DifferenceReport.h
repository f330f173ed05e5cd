//===- DifferenceReport.h - Figures of a difference, as text and as JSON ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_MEASURE_DIFFERENCEREPORT_H
#define DLC_TOOLS_DRIVER_MEASURE_DIFFERENCEREPORT_H

#include "tools/driver/base/Json.h"
#include "tools/driver/run/OutputDifference.h"

#include <string>
#include <vector>

namespace dlc {

/// Rows of the same number of cells, each column as wide as its widest cell.
std::string asTable(const std::vector<std::vector<std::string>> &rows);
/// "73.1", or "exact".
std::string decibels(double value);
/// "2 of its 40 numbers are NaN and 0 infinite on one side only, the first at [3, 1]: nan, expected
/// 0.5".
std::string describeNotFinite(const OutputDifference &difference);
/// "the relative error is 0.3, 30 times the bound of 0.01; furthest off at [3, 1]: 0.2, expected
/// 0.5"; `what` is the relative error.
std::string describeExcess(double error, double most, const char *what,
                           const OutputDifference &difference);
/// The elements and all figures, as fields of an object that is open.
void writeFigures(Json &json, const OutputDifference &difference);
/// A line on a terminal that so many samples are done, where it takes longer than a second; none
/// where `done` is all.
void showSamples(int64_t done, int64_t total);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_DIFFERENCEREPORT_H
