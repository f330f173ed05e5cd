//===- Expressions.cpp - The shape expressions of a module -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/bind/Expressions.h"
#include "runtime/core/Checked.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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
  default:
    break;
  }
  return std::nullopt;
}

//===- Definitions of derived symbols ---------------------------------------------------------===//

static double realOf(int64_t bits) { return std::bit_cast<double>(bits); }
static int64_t bitsOf(double real) { return std::bit_cast<int64_t>(real); }

/// Rounds towards zero; the nearest integer of 64 bits where the number is beyond them, 0 for NaN.
static int64_t truncated(double value) {
  if (std::isnan(value))
    return 0;
  return value >= 0x1p63   ? std::numeric_limits<int64_t>::max()
         : value < -0x1p63 ? std::numeric_limits<int64_t>::min()
                           : static_cast<int64_t>(value);
}

/// Rounds half to even, whatever the rounding mode of the process.
static double nearestEven(double value) {
  double below = std::floor(value), rest = value - below;
  return rest < 0.5 || (rest == 0.5 && std::fmod(below, 2) == 0) ? below : below + 1;
}

/// The value of `a op b`, both as rows hold them; `op` is none of those of sizes, and no choice.
static int64_t defined(ExprOp op, int64_t a, int64_t b) {
  double x = realOf(a), y = realOf(b);
  switch (op) {
  case ExprOp::min:
    return std::min(a, b);
  case ExprOp::max:
    return std::max(a, b);
  case ExprOp::equal:
    return a == b;
  case ExprOp::less:
    return a < b;
  case ExprOp::quotient:
    if (b == -1)
      return a == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -a;
    return b == 0 ? 0 : a / b;
  case ExprOp::remainder:
    return b == 0 || b == -1 ? 0 : a % b;
  case ExprOp::real:
    return bitsOf(static_cast<double>(a));
  case ExprOp::integer:
    return truncated(x);
  case ExprOp::single:
    return bitsOf(static_cast<float>(x));
  case ExprOp::sum:
    return bitsOf(x + y);
  case ExprOp::difference:
    return bitsOf(x - y);
  case ExprOp::product:
    return bitsOf(x * y);
  case ExprOp::ratio:
    return bitsOf(x / y);
  case ExprOp::floor:
    return bitsOf(std::floor(x));
  case ExprOp::ceil:
    return bitsOf(std::ceil(x));
  case ExprOp::nearest:
    return bitsOf(nearestEven(x));
  case ExprOp::root:
    return bitsOf(std::sqrt(x));
  case ExprOp::real_min:
    return bitsOf(std::min(x, y));
  case ExprOp::real_max:
    return bitsOf(std::max(x, y));
  case ExprOp::real_equal:
    return x == y;
  case ExprOp::real_less:
    return x < y;
  default:
    return 0;
  }
}

/// Checks the operands of a row of a definition: earlier ones, integers or real numbers as its
/// operation takes them.
Expected<Expressions::Kind> Expressions::kindOf(const std::vector<Kind> &earlier,
                                                const ExprNode &node, size_t row) {
  ExprOp op = node.op();
  bool isChoice = op == ExprOp::select;
  if (op == ExprOp::real_constant)
    return Kind::real;
  for (int64_t operand : {int64_t(node.lhs()), int64_t(node.rhs()), isChoice ? node.value() : 0})
    if (operand < 0 || static_cast<uint64_t>(operand) >= row)
      return malformed("expression ", row, " names expression ", operand,
                       "; expected an earlier one");
  auto isReal = [&](size_t operand) { return earlier[operand] == Kind::real; };
  bool takesReal = op == ExprOp::integer || op >= ExprOp::single;
  if (isChoice)
    takesReal = isReal(node.lhs());
  if (isReal(node.lhs()) != takesReal || isReal(node.rhs()) != takesReal ||
      (isChoice && isReal(static_cast<size_t>(node.value()))))
    return malformed("expression ", row, " has an operand that is ",
                     takesReal ? "an integer; expected real numbers"
                               : "a real number; expected integers");
  bool givesReal =
      isChoice ? takesReal
               : op == ExprOp::real ||
                     (op >= ExprOp::single && op != ExprOp::real_equal && op != ExprOp::real_less);
  return givesReal ? Kind::real : Kind::integer;
}

//===- The table ------------------------------------------------------------------------------===//

Expected<Expressions> Expressions::create(const schema::Module &module) {
  Expressions result;
  result.module = &module;
  size_t count = module.expressions() ? module.expressions()->size() : 0;
  size_t numSymbols = module.symbols() ? module.symbols()->size() : 0;
  bool hasDerived = false;
  for (size_t i = 0; i < numSymbols; ++i)
    hasDerived |= module.symbols()->Get(i)->is_derived();
  result.ranges.reserve(count);
  auto refuse = [](size_t row, const auto &...what) {
    return malformed("expression ", row, what...);
  };
  for (size_t row = 0; row < count; ++row) {
    const ExprNode &node = *module.expressions()->Get(row);
    if (node.op() > ExprOp::MAX)
      return refuse(row, ": unknown operation ", static_cast<int>(node.op()));
    if (node.op() > ExprOp::mod) {
      Expected<Kind> kind = kindOf(result.kinds, node, row);
      if (kind.failed())
        return kind.status();
      result.kinds.push_back(*kind);
      result.ranges.push_back({0, 0});
      continue;
    }
    result.kinds.push_back(Kind::size);
    if (node.op() == ExprOp::constant) {
      result.ranges.push_back({node.value(), node.value()});
      continue;
    }
    if (node.op() == ExprOp::symbol) {
      if (node.value() < 0 || static_cast<uint64_t>(node.value()) >= numSymbols)
        return refuse(row, " names symbol ", node.value(), "; there are ", numSymbols);
      const schema::Symbol &symbol = *module.symbols()->Get(node.value());
      if (symbol.is_derived() &&
          (symbol.derived() >= row || result.kinds[symbol.derived()] == Kind::real))
        return refuse(row, " names symbol ", node.value(), ", which is derived from expression ",
                      symbol.derived(), "; expected an earlier integer");
      result.ranges.push_back({symbol.min(), symbol.max()});
      continue;
    }
    if (node.lhs() >= row || node.rhs() >= row)
      return refuse(row, " names expression ", std::max(node.lhs(), node.rhs()),
                    "; expected an earlier one");
    if (result.kinds[node.lhs()] != Kind::size || result.kinds[node.rhs()] != Kind::size)
      return refuse(row, " names a step in the definition of a derived symbol; expected a size");
    Interval divisor = result.ranges[node.rhs()];
    if (node.op() >= ExprOp::floordiv && divisor.min <= 0)
      return refuse(row, " divides by what may be ", divisor.min, "; expected a positive divisor");
    std::optional<Interval> range = combine(node.op(), result.ranges[node.lhs()], divisor);
    // Such sizes are refused when they turn up, for nothing has that memory, where symbols are
    // computed.
    if (!range && (module.given() || hasDerived))
      range = Interval{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    if (!range)
      return refuse(row, " overflows 64 bits for some values of the symbols: narrow their ranges");
    result.ranges.push_back(*range);
  }
  result.findReads();
  return result;
}

void Expressions::findReads() {
  for (size_t row = 0; row < size(); ++row) {
    const ExprNode &node = *module->expressions()->Get(row);
    bool isRead = false;
    if (node.op() == ExprOp::symbol) {
      const schema::Symbol &symbol = *module->symbols()->Get(node.value());
      isRead = symbol.read() || (symbol.is_derived() && reads[symbol.derived()]);
    } else if (node.op() != ExprOp::constant && node.op() != ExprOp::real_constant) {
      isRead = reads[node.lhs()] || reads[node.rhs()] ||
               (node.op() == ExprOp::select && reads[node.value()]);
    }
    reads.push_back(isRead);
  }
}

std::optional<uint32_t> Expressions::asSymbol(uint32_t index) const {
  const ExprNode &node = *module->expressions()->Get(index);
  if (node.op() != ExprOp::symbol)
    return std::nullopt;
  return static_cast<uint32_t>(node.value());
}

/// What stands for an integer of more than 64 bits.
static int64_t beyond(bool isPositive) {
  return isPositive ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
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
    case ExprOp::symbol: {
      const schema::Symbol &symbol = *module->symbols()->Get(node.value());
      values[row] = symbol.is_derived()
                        ? std::clamp(values[symbol.derived()], symbol.min(), symbol.max())
                        : symbols[node.value()];
      break;
    }
    case ExprOp::add:
      if (!checkedAdd(lhs(), rhs(), values[row])) // of opposite signs never
        values[row] = beyond(lhs() > 0);
      break;
    case ExprOp::mul:
      if (!checkedMul(lhs(), rhs(), values[row]))
        values[row] = beyond((lhs() > 0) == (rhs() > 0));
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
    case ExprOp::select:
      values[row] = values[node.value()] != 0 ? lhs() : rhs();
      break;
    case ExprOp::real_constant:
      values[row] = node.value();
      break;
    default:
      values[row] = defined(node.op(), lhs(), rhs());
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
    else if (node.op() != ExprOp::constant && node.op() != ExprOp::real_constant)
      needed[node.lhs()] = needed[node.rhs()] = true;
    if (node.op() == ExprOp::select)
      needed[node.value()] = true;
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// `factor` times a symbol. Its name belongs to step * symbol + offset: 32 times a symbol of step
/// 32 is "H", twice that symbol "H/16".
static std::string printSymbol(const dlc::schema::Symbol &symbol, int64_t factor) {
  std::string size = symbol.name()->str();
  if (symbol.offset() != 0)
    size = text("(", size, " - ", symbol.offset(), ")");
  if (factor == symbol.step())
    return size;
  if (factor % symbol.step() == 0)
    return text(factor / symbol.step(), "*", size);
  if (symbol.step() % factor == 0)
    return text(size, "/", symbol.step() / factor);
  return text(factor, "*", size, "/", symbol.step());
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
    return printSymbol(*module.symbols()->Get(node.value()), 1);
  if (node.op() == ExprOp::real_constant)
    return text(realOf(node.value()));
  auto at = [&](uint32_t row) -> const ExprNode & { return *module.expressions()->Get(row); };
  if (node.op() > ExprOp::mod) {
    auto inside = [&](uint32_t child) { return printNode(module, child, 0, budget); };
    std::string out = text(dlc::schema::EnumNameExprOp(node.op()), "(");
    if (node.op() == ExprOp::select)
      out += inside(static_cast<uint32_t>(node.value())) + ", ";
    out += inside(node.lhs());
    return out + (node.rhs() == node.lhs() ? ")" : ", " + inside(node.rhs()) + ")");
  }
  // step * symbol + offset: the size that the symbol's name belongs to.
  if (node.op() == ExprOp::add && at(node.rhs()).op() == ExprOp::constant &&
      at(node.lhs()).op() == ExprOp::mul && at(at(node.lhs()).lhs()).op() == ExprOp::symbol &&
      at(at(node.lhs()).rhs()).op() == ExprOp::constant)
    if (const dlc::schema::Symbol &symbol =
            *module.symbols()->Get(at(at(node.lhs()).lhs()).value());
        symbol.offset() != 0 && symbol.offset() == at(node.rhs()).value() &&
        symbol.step() == at(at(node.lhs()).rhs()).value())
      return symbol.name()->str();
  if (node.op() == ExprOp::mul && at(node.lhs()).op() == ExprOp::symbol &&
      at(node.rhs()).op() == ExprOp::constant && at(node.rhs()).value() > 0)
    if (const dlc::schema::Symbol &symbol = *module.symbols()->Get(at(node.lhs()).value());
        symbol.step() > 1)
      return printSymbol(symbol, at(node.rhs()).value());
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
