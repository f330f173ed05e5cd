//===- AssignmentProblem.h - Choices whose costs depend on each other in pairs ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_LAYOUT_ASSIGNMENTPROBLEM_H
#define DLC_PASSES_LAYOUT_ASSIGNMENTPROBLEM_H

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace dlc {

/// A partitioned boolean quadratic problem: each variable takes one of its choices, each choice has
/// a cost, and so has each pair of choices of two variables that are connected.
///
/// Algorithm: reductions of variables with at most two neighbours, which keep the optimum, and a
/// guess for one with more (B. Scholz and E. Eckstein, "Register allocation for irregular
/// architectures", LCTES 2002). Chains, branches that join again and residual connections have
/// none.
class AssignmentProblem {
public:
  /// Returns the number of a new variable whose choices cost this much.
  unsigned addVariable(llvm::ArrayRef<float> costs);
  void addCost(unsigned variable, unsigned choice, float cost) {
    variables[variable][choice] += cost;
  }
  /// Adds costs[i][j], in row-major order, where `first` takes i and `second`, another one, j.
  void addPair(unsigned first, unsigned second, llvm::ArrayRef<float> costs);

  /// The choice of each variable, whose sum of costs is the least, or near it after a guess. The
  /// first of those that cost as much.
  std::vector<unsigned> solve() const;

private:
  struct Pair {
    unsigned first, second;
    llvm::SmallVector<float, 9> costs;
  };
  std::vector<llvm::SmallVector<float, 4>> variables;
  std::vector<Pair> pairs;
};

} // namespace dlc

#endif // DLC_PASSES_LAYOUT_ASSIGNMENTPROBLEM_H
