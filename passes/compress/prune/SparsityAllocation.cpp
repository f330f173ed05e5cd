//===- SparsityAllocation.cpp - How many zeros each weight gets ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/SparsityAllocation.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

namespace dlc {

namespace {
/// A part of a curve along which each zero costs the same.
struct Segment {
  double costOfNumber;
  size_t curve, place; // which of its segments
  double share;        // that it takes
};
} // namespace

/// The points of the lower convex hull.
static std::vector<SensitivityCurve::Point> hullOf(llvm::ArrayRef<SensitivityCurve::Point> points) {
  std::vector<SensitivityCurve::Point> hull;
  for (const SensitivityCurve::Point &point : points) {
    auto isAbove = [&] { // the last one lies on or above the line from the one before it to `point`
      const auto &a = hull[hull.size() - 2], &b = hull.back();
      return (b.cost - a.cost) * (point.share - a.share) >=
             (point.cost - a.cost) * (b.share - a.share);
    };
    while (hull.size() >= 2 && isAbove())
      hull.pop_back();
    hull.push_back(point);
  }
  return hull;
}

std::vector<double> allocateSparsity(llvm::ArrayRef<SensitivityCurve> curves, double total) {
  std::vector<Segment> segments;
  double left = 0;
  for (auto [number, curve] : llvm::enumerate(curves)) {
    left += total * static_cast<double>(curve.numbers);
    const auto hull = hullOf(curve.points);
    for (size_t i = 1; i < hull.size(); ++i) {
      const double share = hull[i].share - hull[i - 1].share;
      segments.push_back({(hull[i].cost - hull[i - 1].cost) /
                              (share * static_cast<double>(std::max<uint64_t>(1, curve.numbers))),
                          number, i, share});
    }
  }
  // Slopes of a hull grow, so that the segments of a curve stay in their order.
  llvm::sort(segments, [](const Segment &a, const Segment &b) {
    return std::tuple(a.costOfNumber, a.curve, a.place) <
           std::tuple(b.costOfNumber, b.curve, b.place);
  });
  std::vector<double> shares(curves.size());
  for (const Segment &segment : segments) {
    const auto numbers = static_cast<double>(curves[segment.curve].numbers);
    if (left <= 0 || numbers == 0)
      continue;
    const double share = std::min(segment.share, left / numbers);
    shares[segment.curve] += share;
    left -= share * numbers;
  }
  return shares;
}

} // namespace dlc
