//===- BoundShapes.cpp - Programs under bound shapes, and their graphs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/graphs/BoundShapes.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace dlc;
using namespace dlc::cuda;

/// One launch costs no more than a graph of one.
static constexpr ptrdiff_t kFewestCommands = 2;

BoundShape *BoundShapes::find(const std::vector<int64_t> &symbols) {
  auto found = std::find_if(shapes.begin(), shapes.end(),
                            [&](const BoundShape &shape) { return shape.symbols == symbols; });
  if (found == shapes.end())
    return nullptr;
  shapes.splice(shapes.begin(), shapes, found);
  return &shapes.front();
}

BoundShape &BoundShapes::add(std::vector<int64_t> symbols, rt::Plan plan) {
  shapes.emplace_front(device);
  BoundShape &shape = shapes.front();
  shape.symbols = std::move(symbols);
  shape.plan = std::move(plan);
  const auto &commands = shape.plan.commands;
  if (std::count_if(commands.begin(), commands.end(),
                    [](const auto &command) { return !command.skip; }) < kFewestCommands)
    shape.graph.giveUp();
  auto mayGo = [](const BoundShape &other) { return !other.isPrepared; };
  if (static_cast<size_t>(std::count_if(shapes.begin(), shapes.end(), mayGo)) > kLimit)
    shapes.erase(std::prev(std::find_if(shapes.rbegin(), shapes.rend(), mayGo).base()));
  return shape;
}
