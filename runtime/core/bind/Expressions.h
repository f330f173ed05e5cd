//===- Expressions.h - The shape expressions of a module ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module keeps one table of expressions over its symbols; buffers, launches and dims name rows of
// it.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_BIND_EXPRESSIONS_H
#define DLC_RUNTIME_CORE_BIND_EXPRESSIONS_H

#include "runtime/core/Status.h"
#include "runtime/schema/module_generated.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc::rt {

/// The values that an expression may take, both ends included.
struct Interval {
  int64_t min, max;
  bool isConstant() const { return min == max; }
};

/// A view of the table, with what is known of each row for all values of the symbols.
class Expressions {
public:
  /// Checks that each row names earlier rows and symbols in range, divides by positive values only,
  /// and stays inside int64 for all symbol values. `module` passed the FlatBuffers verifier and its
  /// symbols have min <= max.
  static Expected<Expressions> create(const schema::Module &module);

  size_t size() const { return ranges.size(); }
  /// Whether row `index` exists and is a size: an expression over symbols, and not a step in the
  /// definition of a derived symbol.
  bool has(uint32_t index) const { return index < ranges.size() && kinds[index] == Kind::size; }
  const Interval &range(uint32_t index) const { return ranges[index]; }
  std::optional<int64_t> constant(uint32_t index) const {
    return ranges[index].isConstant() ? std::optional(ranges[index].min) : std::nullopt;
  }
  /// The symbol that the row is, and nothing else.
  std::optional<uint32_t> asSymbol(uint32_t index) const;

  /// Values of rows 0..count-1 when symbol s has value symbols[s], which lies in its range. A
  /// derived symbol has the value of its definition instead, in rows that name it moved into its
  /// range.
  void evaluate(const std::vector<int64_t> &symbols, size_t count,
                std::vector<int64_t> &values) const;
  /// Symbols that row `index` depends on.
  std::vector<uint32_t> symbolsOf(uint32_t index) const;
  /// Whether row `index` depends on a symbol whose value a flow sets during the run
  /// (schema::Symbol::read).
  bool isRead(uint32_t index) const { return reads[index]; }
  /// Of each symbol: whether any row names it.
  std::vector<bool> usedSymbols() const;
  /// Whether two rows are the same expression (written alike, or the same constant).
  bool same(uint32_t a, uint32_t b) const;
  /// "2*N + 1".
  std::string print(uint32_t index) const;

private:
  /// A row of a definition is an integer or, as the bits of an f64, a real number.
  enum class Kind : uint8_t { size, integer, real };

  static Expected<Kind> kindOf(const std::vector<Kind> &earlier, const schema::ExprNode &node,
                               size_t row);

  void findReads();

  const schema::Module *module = nullptr;
  std::vector<Interval> ranges; ///< of sizes; 0 of other rows
  std::vector<Kind> kinds;
  std::vector<bool> reads;
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_BIND_EXPRESSIONS_H
