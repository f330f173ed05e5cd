//===- AssignmentProblem.cpp - Choices whose costs depend on each other in pairs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/layout/AssignmentProblem.h"

#include "llvm/CodeGen/PBQP/CostAllocator.h"
#include "llvm/CodeGen/PBQP/Graph.h"
#include "llvm/CodeGen/PBQP/Math.h"
#include "llvm/CodeGen/PBQP/ReductionRules.h"
#include "llvm/CodeGen/PBQP/Solution.h"

#include <set>

namespace dlc {
namespace {

/// The solver that LLVM's graph needs as its parameter. It keeps nothing about nodes or edges.
struct Reductions {
  using RawVector = llvm::PBQP::Vector;
  using RawMatrix = llvm::PBQP::Matrix;
  using CostAllocator = llvm::PBQP::PoolCostAllocator<RawVector, RawMatrix>;
  using Vector = CostAllocator::Vector;
  using Matrix = CostAllocator::Matrix;
  struct NodeMetadata {
    bool wasConservativelyAllocatable() const { return false; }
  };
  struct EdgeMetadata {};
  struct GraphMetadata {};

  void handleAddNode(unsigned) {}
  void handleRemoveNode(unsigned) {}
  void handleSetNodeCosts(unsigned, const Vector &) {}
  void handleAddEdge(unsigned) {}
  void handleRemoveEdge(unsigned) {}
  void handleDisconnectEdge(unsigned, unsigned) {}
  void handleReconnectEdge(unsigned, unsigned) {}
  void handleUpdateCosts(unsigned, const Matrix &) {}
};
using Graph = llvm::PBQP::Graph<Reductions>;

} // namespace

unsigned AssignmentProblem::addVariable(llvm::ArrayRef<float> costs) {
  variables.emplace_back(costs);
  return variables.size() - 1;
}

void AssignmentProblem::addPair(unsigned first, unsigned second, llvm::ArrayRef<float> costs) {
  pairs.push_back({first, second, llvm::SmallVector<float, 9>(costs)});
}

/// Takes all nodes out of the graph, one with the fewest neighbours first. Returns them in that
/// order: the choice of each follows from those of the nodes after it.
static std::vector<Graph::NodeId> reduce(Graph &graph, size_t size) {
  std::set<std::pair<unsigned, Graph::NodeId>> open; // by the number of neighbours
  std::vector<unsigned> degrees(size);
  for (Graph::NodeId node = 0; node < size; ++node)
    open.insert({degrees[node] = graph.getNodeDegree(node), node});
  std::vector<Graph::NodeId> order;
  while (!open.empty()) {
    auto [degree, node] = *open.begin();
    open.erase(open.begin());
    llvm::SmallVector<Graph::NodeId> neighbours;
    for (Graph::EdgeId edge : graph.adjEdgeIds(node))
      neighbours.push_back(graph.getEdgeOtherNodeId(edge, node));
    if (degree == 1)
      llvm::PBQP::applyR1(graph, node);
    else if (degree == 2)
      llvm::PBQP::applyR2(graph, node);
    else
      graph.disconnectAllNeighborsFromNode(node);
    order.push_back(node);
    for (Graph::NodeId neighbour : neighbours) {
      open.erase({degrees[neighbour], neighbour});
      open.insert({degrees[neighbour] = graph.getNodeDegree(neighbour), neighbour});
    }
  }
  return order;
}

std::vector<unsigned> AssignmentProblem::solve() const {
  Graph graph((Reductions::GraphMetadata()));
  for (const auto &costs : variables) {
    Reductions::RawVector vector(costs.size());
    for (auto [choice, cost] : llvm::enumerate(costs))
      vector[choice] = cost;
    graph.addNode(std::move(vector));
  }
  for (const Pair &pair : pairs) {
    unsigned rows = variables[pair.first].size(), columns = variables[pair.second].size();
    Graph::EdgeId edge = graph.findEdge(pair.first, pair.second);
    bool isKnown = edge != Graph::invalidEdgeId();
    bool isTurned = isKnown && graph.getEdgeNode1Id(edge) != pair.first;
    Reductions::RawMatrix costs(isTurned ? columns : rows, isTurned ? rows : columns, 0);
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned j = 0; j < columns; ++j)
        (isTurned ? costs[j][i] : costs[i][j]) = pair.costs[i * columns + j];
    if (isKnown)
      graph.updateEdgeCosts(edge, costs + graph.getEdgeCosts(edge));
    else
      graph.addEdge(pair.first, pair.second, std::move(costs));
  }
  llvm::PBQP::Solution solution = llvm::PBQP::backpropagate(graph, reduce(graph, variables.size()));
  std::vector<unsigned> choices(variables.size());
  for (unsigned variable = 0; variable < choices.size(); ++variable)
    choices[variable] = solution.getSelection(variable);
  return choices;
}

} // namespace dlc
