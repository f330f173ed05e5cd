//===- ShapeBinder.cpp - From the dims of the inputs to the values of the symbols ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/Checked.h"
#include "runtime/core/Text.h"

#include <optional>

using namespace dlc;
using namespace dlc::rt;

/// The size that a symbol's name belongs to.
static int64_t sizeAt(const schema::Symbol &symbol, int64_t value) {
  return symbol.step() * value + symbol.offset();
}

namespace {

class Binder {
public:
  Binder(const Module &module, const std::vector<Dims> &inputs, const std::vector<int64_t> &given)
      : module(module), table(module.table()), expressions(module.expressions()), inputs(inputs),
        given(given), numSymbols(table.symbols() ? table.symbols()->size() : 0), bound(numSymbols),
        from(numSymbols) {
    // Any value in range will do for an unbound symbol while another is solved for.
    for (size_t i = 0; i < numSymbols; ++i) {
      result.symbols.push_back(table.symbols()->Get(i)->min());
      bound[i] = table.symbols()->Get(i)->min() == table.symbols()->Get(i)->max() ||
                 table.symbols()->Get(i)->counted() || table.symbols()->Get(i)->is_derived() ||
                 table.symbols()->Get(i)->read();
    }
  }

  Expected<Binding> run() {
    DLC_TRY(checkRanks());
    DLC_TRY(bindGiven());
    DLC_TRY(bindPlainSymbols());
    DLC_TRY(solve());
    std::vector<bool> used = expressions.usedSymbols();
    for (size_t i = 0; i < numSymbols; ++i)
      if (!bound[i] && used[i])
        return Status(DLC_USAGE, text("the inputs' dims do not determine the symbol ",
                                      quoted(table.symbols()->Get(i)->name()->string_view())));
    expressions.evaluate(result.symbols, expressions.size(), result.values);
    DLC_TRY(bindDerived());
    bindCounted();
    DLC_TRY(checkInputs());
    DLC_TRY(checkNeeds());
    DLC_TRY(evaluate("output", table.outputs(), result.outputs));
    DLC_TRY(evaluate("state", table.states(), result.states));
    return std::move(result);
  }

private:
  const schema::Value &input(size_t i) const { return *table.inputs()->Get(i); }
  std::string dimName(size_t i, size_t dim) const {
    return text("input ", quoted(input(i).name()->string_view()), ", dim ", dim);
  }
  /// Returns the sizes that the flow gives a segment, as in " (N = 4, shape_0 = 5)"; empty for
  /// other models.
  std::string givenSizes() const {
    constexpr uint32_t kMost = 8;
    std::string out;
    for (uint32_t i = 0; table.given() && i < table.given()->size() && i < kMost; ++i) {
      uint32_t symbol = table.given()->Get(i);
      out += text(i ? ", " : " (", table.symbols()->Get(symbol)->name()->string_view(), " = ",
                  result.symbols[symbol]);
    }
    return out.empty() ? out : out + ")";
  }
  /// "; input 'x' is f32[N,1,28,28] with N in 1..64".
  std::string signature(size_t i) const {
    std::string out =
        text("; ", quoted(input(i).name()->string_view()), " is ", module.describe(input(i)));
    std::vector<bool> told(numSymbols);
    const char *joint = " with ";
    for (uint32_t index : *input(i).dims())
      for (uint32_t symbol : expressions.symbolsOf(index)) {
        if (told[symbol])
          continue;
        told[symbol] = true;
        const schema::Symbol &info = *table.symbols()->Get(symbol);
        out += text(std::exchange(joint, ", "), info.name()->string_view(), " in ",
                    sizeAt(info, info.min()), "..", sizeAt(info, info.max()));
        if (info.step() > 1)
          out += text(" in steps of ", info.step());
        if (info.why() && info.why()->size())
          out += text(" (", info.why()->string_view(), ")");
      }
    return out;
  }

  Status checkRanks() const {
    size_t count = table.inputs() ? table.inputs()->size() : 0;
    if (inputs.size() != count)
      return {DLC_USAGE,
              text("expected ", count, count == 1 ? " input" : " inputs", ", got ", inputs.size())};
    for (size_t i = 0; i < count; ++i) {
      size_t rank = input(i).dims() ? input(i).dims()->size() : 0;
      if (inputs[i].size() != rank)
        return {DLC_USAGE,
                text("input ", quoted(input(i).name()->string_view()), ": expected ", rank,
                     " dims, got ", inputs[i].size(), rank ? signature(i) : std::string())};
    }
    return {};
  }

  Status bindGiven() {
    for (size_t i = 0; i < given.size(); ++i) {
      uint32_t symbol = table.given()->Get(static_cast<uint32_t>(i));
      const schema::Symbol &info = *table.symbols()->Get(symbol);
      DLC_TRY(checkComputed(info, given[i]));
      result.symbols[symbol] = given[i];
      bound[symbol] = true;
      from[symbol] = "what the model computed";
    }
    return {};
  }

  Status set(uint32_t symbol, int64_t value, size_t i, size_t dim) {
    const schema::Symbol &info = *table.symbols()->Get(symbol);
    if (value < info.min() || value > info.max())
      return {DLC_USAGE, text(dimName(i, dim), ": expected ", sizeAt(info, info.min()), " to ",
                              sizeAt(info, info.max()), ", got ", inputs[i][dim], signature(i))};
    if (bound[symbol] && result.symbols[symbol] != value)
      return {DLC_USAGE,
              text(dimName(i, dim), ": expected ", sizeAt(info, result.symbols[symbol]), ", got ",
                   sizeAt(info, value), ": ", info.name()->string_view(), " = ",
                   sizeAt(info, result.symbols[symbol]), " by ", from[symbol], signature(i))};
    result.symbols[symbol] = value;
    if (!bound[symbol])
      from[symbol] = dimName(i, dim);
    bound[symbol] = true;
    return {};
  }

  Status bindPlainSymbols() {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t dim = 0; dim < inputs[i].size(); ++dim)
        if (std::optional<uint32_t> symbol = expressions.asSymbol(input(i).dims()->Get(dim));
            symbol && !table.symbols()->Get(*symbol)->is_derived()) // which others say
          DLC_TRY(set(*symbol, inputs[i][dim], i, dim));
    return {};
  }

  /// Dims with one unknown symbol give its value, until no dim gives one any more.
  Status solve() {
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t i = 0; i < inputs.size(); ++i)
        for (size_t dim = 0; dim < inputs[i].size(); ++dim) {
          uint32_t index = input(i).dims()->Get(dim);
          std::optional<uint32_t> unknown;
          size_t unknowns = 0;
          for (uint32_t symbol : expressions.symbolsOf(index))
            if (!bound[symbol])
              unknown = symbol, ++unknowns;
          if (unknowns != 1)
            continue;
          bool exists = false;
          if (std::optional<int64_t> value = solveFor(*unknown, index, inputs[i][dim], exists)) {
            DLC_TRY(set(*unknown, *value, i, dim));
            progress = true;
          } else if (!exists) {
            const schema::Symbol &info = *table.symbols()->Get(*unknown);
            if (info.step() > 1 && expressions.print(index) == info.name()->string_view())
              return {DLC_USAGE, text(dimName(i, dim), ": expected ", sizeAt(info, info.min()),
                                      " to ", sizeAt(info, info.max()), " in steps of ",
                                      info.step(), ", got ", inputs[i][dim], signature(i))};
            return {DLC_USAGE,
                    text(dimName(i, dim), ": no value in range makes ", expressions.print(index),
                         " equal to ", inputs[i][dim], signature(i))};
          }
        }
    }
    return {};
  }

  /// Derived symbols have the values of their definitions, which must lie in their ranges: kernels
  /// were made for these.
  Status bindDerived() {
    for (size_t i = 0; i < numSymbols; ++i) {
      const schema::Symbol &symbol = *table.symbols()->Get(i);
      if (!symbol.is_derived() || expressions.isRead(symbol.derived()))
        continue;
      int64_t value = result.symbols[i] = result.values[symbol.derived()];
      if (value < symbol.min() || value > symbol.max())
        return {DLC_USAGE,
                text("the model does not take inputs of these dims: ", symbol.name()->string_view(),
                     " = ", expressions.print(symbol.derived()), " would be ", value, "; expected ",
                     symbol.min(), " to ", symbol.max(), givenSizes())};
    }
    return {};
  }

  /// While a run lasts, what the data count is as large as it may be.
  void bindCounted() {
    bool any = false;
    for (size_t i = 0; i < numSymbols; ++i)
      if (const schema::Symbol &symbol = *table.symbols()->Get(i); symbol.counted()) {
        result.symbols[i] = result.values[symbol.most()];
        any = true;
      }
    if (any)
      expressions.evaluate(result.symbols, expressions.size(), result.values);
  }

  int64_t at(uint32_t symbol, int64_t value, uint32_t index) {
    result.symbols[symbol] = value;
    expressions.evaluate(result.symbols, size_t(index) + 1, result.values);
    return result.values[index];
  }

  /// The one value of `symbol` for which expression `index` is `wanted`. It is searched by
  /// bisection: dims are sums, products and quotients of sizes, so monotone. `exists`: there may be
  /// one.
  std::optional<int64_t> solveFor(uint32_t symbol, uint32_t index, int64_t wanted, bool &exists) {
    const schema::Symbol &info = *table.symbols()->Get(symbol);
    int64_t low = info.min(), high = info.max();
    int64_t first = at(symbol, low, index), last = at(symbol, high, index);
    bool rising = first <= last;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      int64_t value = at(symbol, middle, index);
      if (rising ? value < wanted : value > wanted)
        low = middle + 1;
      else
        high = middle;
    }
    bool found = at(symbol, low, index) == wanted;
    // Equal ends do not tell whether the expression is monotone.
    exists = found || first == last;
    bool unique = low == info.max() || at(symbol, low + 1, index) != wanted;
    return found && unique ? std::optional(low) : std::nullopt;
  }

  Status checkInputs() const {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t dim = 0; dim < inputs[i].size(); ++dim) {
        int64_t wanted = result.values[input(i).dims()->Get(dim)];
        if (inputs[i][dim] != wanted || wanted < 0)
          return {DLC_USAGE, text(dimName(i, dim), ": expected ", wanted, ", got ", inputs[i][dim],
                                  signature(i))};
      }
    return {};
  }

  Status checkNeeds() const {
    for (size_t i = 0; table.needs() && i < table.needs()->size(); ++i) {
      const schema::Need &need = *table.needs()->Get(i);
      if (expressions.isRead(need.dim()))
        continue;
      int64_t size = result.values[need.dim()];
      if (need.exact() && size != need.least())
        return {DLC_USAGE,
                text("the model does not take inputs of these dims: ", need.why()->string_view(),
                     "; they differ by ", size, givenSizes())};
      if (size < need.least())
        return {DLC_USAGE, text("the model does not take inputs of these dims: ",
                                need.why()->string_view(), "; it would be ", size, givenSizes())};
    }
    return {};
  }

  Status evaluate(const char *kind,
                  const flatbuffers::Vector<flatbuffers::Offset<schema::Value>> *values,
                  std::vector<Dims> &list) const {
    for (size_t i = 0; values && i < values->size(); ++i) {
      const schema::Value &value = *values->Get(i);
      Dims dims;
      for (size_t dim = 0; value.dims() && dim < value.dims()->size(); ++dim) {
        if (expressions.isRead(value.dims()->Get(dim))) {
          dims.push_back(-1);
          continue;
        }
        dims.push_back(result.values[value.dims()->Get(dim)]);
        if (dims.back() < 0)
          return {DLC_USAGE,
                  text(kind, " ", quoted(value.name()->string_view()), ", dim ", dim, " would be ",
                       dims.back(), " for these inputs: they are too small for the model")};
      }
      list.push_back(std::move(dims));
    }
    return {};
  }

  const Module &module;
  const schema::Module &table;
  const Expressions &expressions;
  const std::vector<Dims> &inputs;
  const std::vector<int64_t> &given;
  size_t numSymbols;
  std::vector<bool> bound;
  std::vector<std::string> from;
  Binding result;
};

} // namespace

Status dlc::rt::checkComputed(const schema::Symbol &symbol, int64_t value) {
  if (value >= symbol.min() && value <= symbol.max())
    return {};
  int64_t size;
  if (!checkedMul(symbol.step(), value, size) || !checkedAdd(size, symbol.offset(), size))
    size = value;
  return {DLC_USAGE,
          text("the model computed ", symbol.name()->string_view(), " = ", size, "; expected ",
               sizeAt(symbol, symbol.min()), " to ", sizeAt(symbol, symbol.max()))};
}

Expected<Binding> dlc::rt::bindShapes(const Module &module, const std::vector<Dims> &inputs,
                                      const std::vector<int64_t> &given) {
  return Binder(module, inputs, given).run();
}
