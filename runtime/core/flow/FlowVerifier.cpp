//===- FlowVerifier.cpp - Can a flow run on its segments? ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/flow/FlowVerifier.h"
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"

#include <algorithm>
#include <utility>

using namespace dlc;
using namespace dlc::rt;

namespace {

template <class List> size_t sizeOf(const List *list) { return list ? list->size() : 0; }

/// Blocks inside blocks: the runner goes down by recursion.
constexpr int kDeepest = 256;
/// Slots, numbers, steps of one flow.
constexpr size_t kMost = 1000000;

using Values = flatbuffers::Vector<flatbuffers::Offset<schema::Value>>;
using Indices = flatbuffers::Vector<uint32_t>;

class FlowVerifier {
public:
  FlowVerifier(const schema::Module &module, const VerifiedModule &verified)
      : module(module), flow(*module.flow()), verified(verified) {}

  Status run() {
    DLC_TRY(checkSlots());
    size_t numSymbols = sizeOf(module.symbols());
    if (flow.numbers() < numSymbols || flow.numbers() > kMost)
      return refuseModule("flow", "expected numbers for ", numSymbols, " symbols and at most ",
                          kMost, ", got ", flow.numbers());
    slots.resize(sizeOf(flow.slots()));
    numbers.resize(flow.numbers());
    for (size_t i = 0; i < numSymbols; ++i)
      if (!isRead(i))
        numbers[i] = {true, true};
    size_t given = sizeOf(module.inputs()) + sizeOf(module.states());
    for (size_t i = 0; i < given; ++i)
      slots[i] = {true, true};
    named.resize(sizeOf(flow.blocks()));
    if (named.empty())
      return refuseModule("flow", "it has no block");
    named[0] = true;
    DLC_TRY(checkBlock(0, 0));
    for (size_t i = 0; i < named.size(); ++i)
      if (!named[i])
        return refuseModule(text("block ", i), "no step names it");
    DLC_TRY(checkEnd("output", flow.outputs(), module.outputs()));
    return checkEnd("state", flow.next_states(), module.states());
  }

private:
  /// A slot or number: written somewhere before, and to be read here.
  struct Place {
    bool isWritten = false, isVisible = false;
  };

  bool isRead(size_t symbol) const {
    const schema::Symbol &info = *module.symbols()->Get(static_cast<uint32_t>(symbol));
    return info.read() || (info.is_derived() && verified.expressions.isRead(info.derived()));
  }

  const schema::Slot &slot(size_t index) const {
    return *flow.slots()->Get(static_cast<uint32_t>(index));
  }
  size_t rankOf(size_t index) const { return sizeOf(slot(index).dims()); }

  Status checkSlots() const {
    size_t inputs = sizeOf(module.inputs()), states = sizeOf(module.states());
    if (sizeOf(flow.slots()) < inputs + states || sizeOf(flow.slots()) > kMost)
      return refuseModule("flow", "expected a slot for each of ", inputs, " inputs and ", states,
                          " states and at most ", kMost, ", got ", sizeOf(flow.slots()));
    for (size_t i = 0; i < sizeOf(flow.slots()); ++i) {
      std::string where = text("slot ", i);
      if (!isDType(static_cast<int>(slot(i).dtype())))
        return refuseModule(where, "unknown element type ", static_cast<int>(slot(i).dtype()));
      if (rankOf(i) > DLC_MAX_RANK)
        return refuseModule(where, "expected at most ", DLC_MAX_RANK, " dims, got ", rankOf(i));
      if (slot(i).dims() && reinterpret_cast<uintptr_t>(slot(i).dims()->Data()) % 8 != 0)
        return refuseModule(where, "its dims are not aligned");
      for (size_t dim = 0; dim < rankOf(i); ++dim)
        if (slot(i).dims()->Get(dim) < -1)
          return refuseModule(where, "dim ", dim, " is ", slot(i).dims()->Get(dim),
                              "; expected -1 or a size");
      if (i < inputs)
        DLC_TRY(checkGoesTo(where, *module.inputs()->Get(i), verified.expressions, i));
      else if (i < inputs + states)
        DLC_TRY(checkGoesTo(where, *module.states()->Get(i - inputs), verified.expressions, i));
    }
    return {};
  }

  //===- Where tensors go ---------------------------------------------------------------------===//

  Status checkTypes(const std::string &where, schema::DType dtype, size_t rank, size_t to) const {
    if (dtype != slot(to).dtype() || rank != rankOf(to))
      return refuseModule(where, "expected ", nameOf(dtype), " of ", rank, " dims in slot ", to,
                          ", got ", nameOf(slot(to).dtype()), " of ", rankOf(to));
    return {};
  }

  /// A value goes into slot `to`, whose static dims it must have for sure.
  Status checkGoesTo(const std::string &where, const schema::Value &value,
                     const Expressions &expressions, size_t to) const {
    DLC_TRY(checkTypes(where, value.dtype(), sizeOf(value.dims()), to));
    for (size_t dim = 0; dim < rankOf(to); ++dim)
      if (int64_t size = slot(to).dims()->Get(dim);
          size >= 0 && expressions.constant(value.dims()->Get(dim)) != size)
        return refuseModule(where, "dim ", dim, " of ", quoted(value.name()->string_view()),
                            " is not always ", size, ", as slot ", to, " has it");
    return {};
  }

  /// Slot `from` goes into slot `to`, whose static dims it must have.
  Status checkGoesTo(const std::string &where, size_t from, size_t to, size_t skip = 0) const {
    DLC_TRY(checkTypes(where, slot(from).dtype(), rankOf(from) + skip, to));
    for (size_t dim = 0; dim < rankOf(from); ++dim)
      if (int64_t size = slot(to).dims()->Get(dim + skip);
          size >= 0 && slot(from).dims()->Get(dim) != size)
        return refuseModule(where, "dim ", dim, " of slot ", from, " is not always ", size,
                            ", as slot ", to, " has it");
    return {};
  }

  /// Slot `from` goes into a value; dims that either leaves open are checked during the run.
  Status checkComesFrom(const std::string &where, size_t from, const schema::Value &value,
                        const Expressions &expressions) const {
    DLC_TRY(checkTypes(where, value.dtype(), sizeOf(value.dims()), from));
    for (size_t dim = 0; dim < rankOf(from); ++dim) {
      int64_t size = slot(from).dims()->Get(dim);
      std::optional<int64_t> wanted = expressions.constant(value.dims()->Get(dim));
      if (size >= 0 && wanted && *wanted != size)
        return refuseModule(where, "dim ", dim, " of slot ", from, " is ", size, "; ",
                            quoted(value.name()->string_view()), " has ", *wanted);
    }
    return {};
  }

  /// Whether the slot holds one element for sure.
  bool isScalar(size_t index) const {
    for (size_t dim = 0; dim < rankOf(index); ++dim)
      if (slot(index).dims()->Get(dim) != 1)
        return false;
    return true;
  }

  //===- Scopes -------------------------------------------------------------------------------===//

  Status read(const std::string &where, const char *what, std::vector<Place> &places,
              uint32_t index) const {
    if (index >= places.size())
      return refuseModule(where, "it names ", what, " ", index, "; there are ", places.size());
    if (!places[index].isVisible)
      return refuseModule(where, "it reads ", what, " ", index, ", which is not written before");
    return {};
  }
  Status readSlot(const std::string &where, uint32_t index) {
    return read(where, "slot", slots, index);
  }

  Status write(const std::string &where, const char *what, std::vector<Place> &places,
               uint32_t index, std::vector<uint32_t> &scope) {
    if (index >= places.size())
      return refuseModule(where, "it names ", what, " ", index, "; there are ", places.size());
    if (places[index].isWritten)
      return refuseModule(where, "it writes ", what, " ", index, " a second time");
    places[index] = {true, true};
    scope.push_back(index);
    return {};
  }
  Status writeSlot(const std::string &where, uint32_t index) {
    return write(where, "slot", slots, index, ownSlots);
  }
  Status writeNumber(const std::string &where, uint32_t index) {
    if (index < sizeOf(module.symbols()) && !module.symbols()->Get(index)->read())
      return refuseModule(where, "it sets number ", index, ", a symbol that is not read");
    return write(where, "number", numbers, index, ownNumbers);
  }

  Status checkCount(const std::string &where, const char *what, const Indices *list,
                    size_t expected) const {
    if (sizeOf(list) != expected)
      return refuseModule(where, "expected ", expected, " ", what, ", got ", sizeOf(list));
    return {};
  }

  //===- Steps --------------------------------------------------------------------------------===//

  /// `atEnd` looks at the block's end, while its slots are visible.
  template <class AtEnd>
  Status checkInner(const std::string &where, uint32_t index, int depth, size_t parent,
                    AtEnd atEnd) {
    if (index >= named.size() || index <= parent || named[index])
      return refuseModule(where, "it names block ", index,
                          "; expected a later one that no other step names");
    named[index] = true;
    DLC_TRY(checkBlock(index, depth + 1));
    return atEnd();
  }

  /// Slots and numbers that are written from here on until leave() are of an inner block.
  struct Scope {
    std::vector<uint32_t> slots, numbers;
  };
  Scope enter() { return {std::exchange(ownSlots, {}), std::exchange(ownNumbers, {})}; }
  void leave(Scope outer) {
    for (uint32_t index : ownSlots)
      slots[index].isVisible = false;
    for (uint32_t index : ownNumbers)
      numbers[index].isVisible = false;
    ownSlots = std::move(outer.slots);
    ownNumbers = std::move(outer.numbers);
  }

  Status checkBlock(uint32_t index, int depth) {
    if (depth > kDeepest)
      return refuseModule(text("block ", index), "blocks are nested deeper than ", kDeepest);
    const schema::Block &block = *flow.blocks()->Get(index);
    for (size_t i = 0; i < sizeOf(block.steps()); ++i) {
      std::string where = text("block ", index, ", step ", i);
      if (++numSteps > kMost)
        return refuseModule(where, "expected at most ", kMost, " steps");
      const schema::StepEntry &entry = *block.steps()->Get(i);
      switch (entry.step_type()) {
      case schema::Step::CallStep:
        DLC_TRY(checkCall(where, *entry.step_as_CallStep()));
        break;
      case schema::Step::ReadStep:
        DLC_TRY(checkRead(where, *entry.step_as_ReadStep()));
        break;
      case schema::Step::SizeStep:
        DLC_TRY(checkSize(where, *entry.step_as_SizeStep()));
        break;
      case schema::Step::IfStep:
        DLC_TRY(checkIf(where, *entry.step_as_IfStep(), index, depth));
        break;
      case schema::Step::LoopStep:
        DLC_TRY(checkLoop(where, *entry.step_as_LoopStep(), index, depth));
        break;
      default:
        return refuseModule(where, "unknown step ", static_cast<int>(entry.step_type()),
                            "; a newer dlc may have written it");
      }
    }
    return {};
  }

  Status checkCall(const std::string &where, const schema::CallStep &step) {
    if (step.segment() >= verified.segments.size())
      return refuseModule(where, "it calls segment ", step.segment(), "; there are ",
                          verified.segments.size());
    const schema::Module &segment = *module.segments()->Get(step.segment());
    const Expressions &expressions = verified.segments[step.segment()];
    size_t outputs = sizeOf(segment.outputs());
    for (size_t i = 0; i < sizeOf(segment.symbols()); ++i)
      outputs -= segment.symbols()->Get(i)->counted();
    DLC_TRY(checkCount(where, "inputs", step.inputs(), sizeOf(segment.inputs())));
    DLC_TRY(checkCount(where, "numbers", step.numbers(), sizeOf(segment.given())));
    DLC_TRY(checkCount(where, "outputs", step.outputs(), outputs));
    for (size_t i = 0; i < sizeOf(step.inputs()); ++i) {
      DLC_TRY(readSlot(where, step.inputs()->Get(i)));
      DLC_TRY(checkComesFrom(where, step.inputs()->Get(i), *segment.inputs()->Get(i), expressions));
    }
    for (size_t i = 0; i < sizeOf(step.numbers()); ++i)
      DLC_TRY(read(where, "number", numbers, step.numbers()->Get(i)));
    for (size_t i = 0; i < outputs; ++i) {
      DLC_TRY(writeSlot(where, step.outputs()->Get(i)));
      DLC_TRY(checkGoesTo(where, *segment.outputs()->Get(i), expressions, step.outputs()->Get(i)));
    }
    return {};
  }

  Status checkRead(const std::string &where, const schema::ReadStep &step) {
    DLC_TRY(readSlot(where, step.slot()));
    if (!isInteger(slot(step.slot()).dtype()) || !isScalar(step.slot()))
      return refuseModule(where, "it reads slot ", step.slot(),
                          "; expected one element of an integer or bool");
    if (step.what() && !isCleanUtf8(step.what()->string_view()))
      return refuseModule(where, "the text that says what it reads is no clean text");
    return writeNumber(where, step.number());
  }

  Status checkSize(const std::string &where, const schema::SizeStep &step) {
    DLC_TRY(readSlot(where, step.slot()));
    if (step.dim() >= rankOf(step.slot()))
      return refuseModule(where, "it reads dim ", step.dim(), " of slot ", step.slot(),
                          ", which has ", rankOf(step.slot()));
    return writeNumber(where, step.number());
  }

  Status checkCondition(const std::string &where, uint32_t index) {
    DLC_TRY(readSlot(where, index));
    if (slot(index).dtype() != schema::DType::boolean || !isScalar(index))
      return refuseModule(where, "its condition is slot ", index, "; expected one bool");
    return {};
  }

  Status checkIf(const std::string &where, const schema::IfStep &step, uint32_t block, int depth) {
    DLC_TRY(checkCondition(where, step.condition()));
    size_t count = sizeOf(step.results());
    for (auto [inner, values] : {std::pair(step.then_block(), step.then_values()),
                                 std::pair(step.else_block(), step.else_values())}) {
      DLC_TRY(checkCount(where, "values of each block", values, count));
      Scope outer = enter();
      DLC_TRY(checkInner(where, inner, depth, block, [&, values = values]() -> Status {
        for (size_t i = 0; i < count; ++i) {
          DLC_TRY(readSlot(where, values->Get(i)));
          if (step.results()->Get(i) < slots.size())
            DLC_TRY(checkGoesTo(where, values->Get(i), step.results()->Get(i)));
        }
        return {};
      }));
      leave(std::move(outer));
    }
    for (size_t i = 0; i < count; ++i)
      DLC_TRY(writeSlot(where, step.results()->Get(i)));
    return {};
  }

  Status checkLoop(const std::string &where, const schema::LoopStep &step, uint32_t block,
                   int depth) {
    size_t carried = sizeOf(step.initial()), stacks = sizeOf(step.gathered());
    DLC_TRY(checkCount(where, "arguments", step.arguments(), carried));
    DLC_TRY(checkCount(where, "next values", step.next(), carried));
    DLC_TRY(checkCount(where, "results", step.results(), carried));
    DLC_TRY(checkCount(where, "stacks", step.stacks(), stacks));
    for (int32_t optional : {step.trips(), step.condition(), step.step(), step.next_condition()})
      if (optional < -1)
        return refuseModule(where, "it names slot ", optional, "; expected -1 or a slot");
    if (step.trips() >= 0) {
      auto trips = static_cast<uint32_t>(step.trips());
      DLC_TRY(readSlot(where, trips));
      if (slot(trips).dtype() != schema::DType::i64 || !isScalar(trips))
        return refuseModule(where, "its number of steps is slot ", trips, "; expected one i64");
    }
    if (step.condition() >= 0)
      DLC_TRY(checkCondition(where, static_cast<uint32_t>(step.condition())));
    for (size_t i = 0; i < carried; ++i)
      DLC_TRY(readSlot(where, step.initial()->Get(i)));
    Scope outer = enter();
    for (size_t i = 0; i < carried; ++i) {
      DLC_TRY(writeSlot(where, step.arguments()->Get(i)));
      DLC_TRY(checkGoesTo(where, step.initial()->Get(i), step.arguments()->Get(i)));
    }
    if (step.step() >= 0) {
      auto number = static_cast<uint32_t>(step.step());
      DLC_TRY(writeSlot(where, number));
      if (slot(number).dtype() != schema::DType::i64 || rankOf(number) != 0)
        return refuseModule(where, "it counts its steps in slot ", number,
                            "; expected an i64 without dims");
    }
    DLC_TRY(
        checkInner(where, step.body(), depth, block, [&] { return checkEndOfBody(where, step); }));
    leave(std::move(outer));
    DLC_TRY(checkEmptyDims(where, step));
    for (size_t i = 0; i < carried; ++i)
      DLC_TRY(writeSlot(where, step.results()->Get(i)));
    for (size_t i = 0; i < stacks; ++i)
      DLC_TRY(writeSlot(where, step.stacks()->Get(i)));
    return {};
  }

  Status checkEmptyDims(const std::string &where, const schema::LoopStep &step) const {
    size_t dims = 0;
    for (size_t i = 0; i < sizeOf(step.gathered()); ++i)
      dims += rankOf(step.gathered()->Get(i));
    if (!sizeOf(step.empty_dims()))
      return {};
    DLC_TRY(checkCount(where, "dims of what it gathers", step.empty_dims(), dims));
    for (uint32_t row : *step.empty_dims())
      if (!verified.expressions.has(row))
        return refuseModule(where, "expression ", row, " is not a size");
    return {};
  }

  Status checkEndOfBody(const std::string &where, const schema::LoopStep &step) {
    for (size_t i = 0; i < sizeOf(step.next()); ++i) {
      uint32_t next = step.next()->Get(i), result = step.results()->Get(i);
      DLC_TRY(readSlot(where, next));
      DLC_TRY(checkGoesTo(where, next, step.arguments()->Get(i)));
      if (result >= slots.size())
        continue; // refused where it is written
      DLC_TRY(checkGoesTo(where, next, result));
      DLC_TRY(checkGoesTo(where, step.initial()->Get(i), result));
    }
    for (size_t i = 0; i < sizeOf(step.gathered()); ++i) {
      uint32_t each = step.gathered()->Get(i), stack = step.stacks()->Get(i);
      DLC_TRY(readSlot(where, each));
      if (stack >= slots.size())
        continue;
      DLC_TRY(checkTypes(where, slot(each).dtype(), rankOf(each) + 1, stack));
      // Unknown dims are 0 after no step, and the first one is the number of steps.
      for (size_t dim = 0; dim < rankOf(stack); ++dim)
        if (int64_t size = slot(stack).dims()->Get(dim);
            size >= 0 && (dim == 0 || slot(each).dims()->Get(dim - 1) != size))
          return refuseModule(where, "dim ", dim, " of slot ", stack, " is not always ", size);
    }
    if (step.next_condition() >= 0)
      DLC_TRY(checkCondition(where, static_cast<uint32_t>(step.next_condition())));
    return {};
  }

  Status checkEnd(const char *kind, const Indices *list, const Values *values) {
    std::string where = text("flow, ", kind, "s");
    DLC_TRY(checkCount(where, "slots", list, sizeOf(values)));
    for (size_t i = 0; i < sizeOf(values); ++i) {
      DLC_TRY(readSlot(where, list->Get(i)));
      DLC_TRY(checkComesFrom(where, list->Get(i), *values->Get(i), verified.expressions));
    }
    return {};
  }

  const schema::Module &module;
  const schema::Flow &flow;
  const VerifiedModule &verified;
  std::vector<Place> slots, numbers;
  std::vector<uint32_t> ownSlots, ownNumbers; ///< that the current block has written
  std::vector<bool> named;
  size_t numSteps = 0;
};

/// A module that a flow calls: as a straight one, and its `given` symbols.
Status checkSegment(const schema::Module &segment, const schema::Module &first) {
  if (segment.flow() || sizeOf(segment.segments()) || sizeOf(segment.states()) || segment.cache())
    return refuseModule("segment", "expected no segments, flow, states or cache inside a segment");
  std::vector<bool> seen(sizeOf(segment.symbols()));
  for (size_t i = 0; i < sizeOf(segment.given()); ++i) {
    uint32_t index = segment.given()->Get(i);
    if (index >= seen.size())
      return refuseModule("given", "it names symbol ", index, "; there are ", seen.size());
    const schema::Symbol &symbol = *segment.symbols()->Get(index);
    if (seen[index] || symbol.counted() || symbol.is_derived())
      return refuseModule("given", "symbol ", quoted(symbol.name()->string_view()),
                          " is counted, derived, or given twice");
    seen[index] = true;
  }
  if (sizeOf(segment.programs()) != sizeOf(first.programs()))
    return refuseModule("segment", "expected programs for the targets of segment 0");
  for (size_t i = 0; i < sizeOf(first.programs()); ++i)
    if (segment.programs()->Get(i)->target() != first.programs()->Get(i)->target())
      return refuseModule("segment", "expected programs for the targets of segment 0");
  return {};
}

/// No symbol is set by steps of a flow.
Status checkNotRead(const schema::Module &module) {
  for (size_t i = 0; i < sizeOf(module.symbols()); ++i)
    if (const schema::Symbol &symbol = *module.symbols()->Get(i); symbol.read())
      return refuseModule(text("symbol ", quoted(symbol.name()->string_view())),
                          "it is read by a flow, and the module has none");
  return {};
}

/// What is known before the run does not depend on what the flow reads.
Status checkReadSymbols(const schema::Module &module, const Expressions &expressions) {
  for (size_t i = 0; i < sizeOf(module.symbols()); ++i) {
    const schema::Symbol &symbol = *module.symbols()->Get(i);
    if (symbol.counted() || (symbol.read() && symbol.is_derived()))
      return refuseModule(text("symbol ", quoted(symbol.name()->string_view())),
                          "in a module with a flow it may be read or derived, and not counted");
  }
  for (auto [kind, values] :
       {std::pair("input", module.inputs()), std::pair("state", module.states())})
    for (size_t i = 0; i < sizeOf(values); ++i)
      for (size_t dim = 0; dim < sizeOf(values->Get(i)->dims()); ++dim)
        if (expressions.isRead(values->Get(i)->dims()->Get(dim)))
          return refuseModule(text(kind, " ", quoted(values->Get(i)->name()->string_view())),
                              "dim ", dim, " depends on a symbol that is read");
  if (module.cache() && expressions.isRead(module.cache()->step()))
    return refuseModule("cache", "its step depends on a symbol that is read");
  return {};
}

} // namespace

Status dlc::rt::verifyStraight(const schema::Module &module) {
  if (sizeOf(module.given()))
    return refuseModule("given", "only a segment of a module with a flow has given symbols");
  return checkNotRead(module);
}

Status dlc::rt::verifyFlow(const schema::Module &module, const VerifiedModule &verified) {
  if (!module.flow() || verified.segments.empty() || verified.segments.size() > kMost)
    return refuseModule("module", "expected a flow and segments that it calls; it has one of them");
  if (sizeOf(module.programs()) || sizeOf(module.weights()) || sizeOf(module.given()))
    return refuseModule("module", "beside a flow it has programs, weights or given symbols");
  for (size_t i = 0; i < verified.segments.size(); ++i) {
    const schema::Module &segment = *module.segments()->Get(i);
    std::string prefix = text("segment ", i, ": ");
    DLC_TRY(checkSegment(segment, *module.segments()->Get(0)).within(prefix));
    DLC_TRY(checkNotRead(segment).within(prefix));
  }
  DLC_TRY(checkReadSymbols(module, verified.expressions));
  return FlowVerifier(module, verified).run();
}
