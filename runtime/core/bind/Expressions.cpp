//===- Expressions.cpp - The shape expressions of a module -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/bind/Expressions.h"
#include "runtime/core/Checked.h"
#include "runtime/core/Text.h"

#include <algorithm>

using namespace dlc::rt;
using dlc::schema::ExprNode;
using dlc::schema::ExprOp;

/// The range of `a op b`; nullopt on overflow. A divisor is positive.
static std::optional<Interval> combine(ExprOp op, Interval a, Interval b) {
  Interval out{};
  switch (op) {
  case ExprOp::add:
    if (!checkedAdd(a.min, b.min, out.min) || !checkedAdd(a.max, b.max, out.max))
      return std::nullopt;
    return out;
  case ExprOp::mul: {
    int64_t corners[4];
    if (!checkedMul(a.min, b.min, corners[0]) || !checkedMul(a.min, b.max, corners[1]) ||
        !checkedMul(a.max, b.min, corners[2]) || !checkedMul(a.max, b.max, corners[3]))
      return std::nullopt;
    return Interval{*std::min_element(corners, corners + 4),
                    *std::max_element(corners, corners + 4)};
  }
  case ExprOp::floordiv:
    return Interval{std::min(floorDiv(a.min, b.min), floorDiv(a.min, b.max)),
                    std::max(floorDiv(a.max, b.min), floorDiv(a.max, b.max))};
  case ExprOp::ceildiv:
    return Interval{std::min(ceilDiv(a.min, b.min), ceilDiv(a.min, b.max)),
                    std::max(ceilDiv(a.max, b.min), ceilDiv(a.max, b.max))};
  case ExprOp::mod:
    if (a.isConstant() && b.isConstant())
      return Interval{floorMod(a.min, b.min), floorMod(a.min, b.min)};
    return Interval{0, a.min >= 0 ? std::min(a.max, b.max - 1) : b.max - 1};
  case ExprOp::constant:
  case ExprOp::symbol:
    break;
  }
  return std::nullopt;
}

Expected<Expressions> Expressions::create(const schema::Module &module) {
  Expressions result;
  result.module = &module;
  size_t count = module.expressions() ? module.expressions()->size() : 0;
  size_t numSymbols = module.symbols() ? module.symbols()->size() : 0;
  result.ranges.reserve(count);
  auto refuse = [](size_t row, const auto &...what) {
    return malformed("expression ", row, what...);
  };
  for (size_t row = 0; row < count; ++row) {
    const ExprNode &node = *module.expressions()->Get(row);
    if (node.op() > ExprOp::mod)
      return refuse(row, ": unknown operation ", static_cast<int>(node.op()));
    if (node.op() == ExprOp::constant) {
      result.ranges.push_back({node.value(), node.value()});
      continue;
    }
    if (node.op() == ExprOp::symbol) {
      if (node.value() < 0 || static_cast<uint64_t>(node.value()) >= numSymbols)
        return refuse(row, " names symbol ", node.value(), "; there are ", numSymbols);
      const schema::Symbol &symbol = *module.symbols()->Get(node.value());
      result.ranges.push_back({symbol.min(), symbol.max()});
      continue;
    }
    if (node.lhs() >= row || node.rhs() >= row)
      return refuse(row, " names expression ", std::max(node.lhs(), node.rhs()),
                    "; expected an earlier one");
    Interval divisor = result.ranges[node.rhs()];
    if (node.op() >= ExprOp::floordiv && divisor.min <= 0)
      return refuse(row, " divides by what may be ", divisor.min, "; expected a positive divisor");
    std::optional<Interval> range = combine(node.op(), result.ranges[node.lhs()], divisor);
    if (!range)
      return refuse(row, " overflows 64 bits for some values of the symbols: narrow their ranges");
    result.ranges.push_back(*range);
  }
  return result;
}

std::optional<uint32_t> Expressions::asSymbol(uint32_t index) const {
  const ExprNode &node = *module->expressions()->Get(index);
  if (node.op() != ExprOp::symbol)
    return std::nullopt;
  return static_cast<uint32_t>(node.value());
}

void Expressions::evaluate(const std::vector<int64_t> &symbols, size_t count,
                           std::vector<int64_t> &values) const {
  values.resize(count);
  for (size_t row = 0; row < count; ++row) {
    const ExprNode &node = *module->expressions()->Get(row);
    auto lhs = [&] { return values[node.lhs()]; };
    auto rhs = [&] { return values[node.rhs()]; };
    switch (node.op()) {
    case ExprOp::constant:
      values[row] = node.value();
      break;
    case ExprOp::symbol:
      values[row] = symbols[node.value()];
      break;
    case ExprOp::add:
      values[row] = lhs() + rhs();
      break;
    case ExprOp::mul:
      values[row] = lhs() * rhs();
      break;
    case ExprOp::floordiv:
      values[row] = floorDiv(lhs(), rhs());
      break;
    case ExprOp::ceildiv:
      values[row] = ceilDiv(lhs(), rhs());
      break;
    case ExprOp::mod:
      values[row] = floorMod(lhs(), rhs());
      break;
    }
  }
}

std::vector<uint32_t> Expressions::symbolsOf(uint32_t index) const {
  std::vector<uint32_t> found;
  std::vector<bool> needed(index + 1);
  needed[index] = true;
  for (uint32_t row = index + 1; row-- > 0;) {
    if (!needed[row])
      continue;
    const ExprNode &node = *module->expressions()->Get(row);
    if (node.op() == ExprOp::symbol)
      found.push_back(static_cast<uint32_t>(node.value()));
    else if (node.op() != ExprOp::constant)
      needed[node.lhs()] = needed[node.rhs()] = true;
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// `budget` bounds the nodes printed: a table is a DAG, whose tree may be exponential.
static std::string printNode(const dlc::schema::Module &module, uint32_t index, int parent,
                             int &budget) {
  if (--budget < 0)
    return "...";
  const ExprNode &node = *module.expressions()->Get(index);
  if (node.op() == ExprOp::constant)
    return std::to_string(node.value());
  if (node.op() == ExprOp::symbol)
    return module.symbols()->Get(node.value())->name()->str();
  static const char *const names[] = {"", "", " + ", "*", " floordiv ", " ceildiv ", " mod "};
  int binding = node.op() == ExprOp::add ? 1 : 2;
  auto operand = [&](uint32_t child, int at) { return printNode(module, child, at, budget); };
  uint32_t lhs = node.lhs(), rhs = node.rhs();
  // "2*N" reads better than "N*2".
  if (node.op() == ExprOp::mul && module.expressions()->Get(rhs)->op() == ExprOp::constant)
    std::swap(lhs, rhs);
  bool rightBinds = node.op() >= ExprOp::floordiv;
  std::string out = operand(lhs, binding);
  out += names[static_cast<int>(node.op())];
  out += operand(rhs, binding + (rightBinds ? 1 : 0));
  return binding < parent ? "(" + out + ")" : out;
}

std::vector<bool> Expressions::usedSymbols() const {
  std::vector<bool> used(module->symbols() ? module->symbols()->size() : 0);
  for (uint32_t row = 0; row < size(); ++row)
    if (std::optional<uint32_t> symbol = asSymbol(row))
      used[*symbol] = true;
  return used;
}

bool Expressions::same(uint32_t a, uint32_t b) const {
  if (a == b || (ranges[a].isConstant() && constant(a) == constant(b)))
    return true;
  std::string text = print(a);
  return text == print(b) && text.find("...") == std::string::npos;
}

std::string Expressions::print(uint32_t index) const {
  int budget = 64;
  return printNode(*module, index, 0, budget);
}
