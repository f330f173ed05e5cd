//===- FlowText.cpp - What a model that is cut into segments does -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/FlowText.h"

#include "runtime/core/DType.h"
#include "runtime/core/Text.h"

namespace dlc {
namespace {

using Indices = flatbuffers::Vector<uint32_t>;

template <typename List> uint32_t sizeOf(const List *list) { return list ? list->size() : 0; }

class FlowPrinter {
public:
  explicit FlowPrinter(const rt::Module &module)
      : table(module.table()), flow(*module.flow()), names(sizeOf(flow.slots())) {
    // The first name counts: an output may be an input.
    uint32_t next = 0;
    for (const auto *values : {table.inputs(), table.states()})
      for (uint32_t i = 0; i < sizeOf(values); ++i)
        names[next++] = values->Get(i)->name()->str();
    for (uint32_t i = 0; i < sizeOf(flow.outputs()); ++i)
      if (std::string &name = names[flow.outputs()->Get(i)]; name.empty())
        name = table.outputs()->Get(i)->name()->str();
  }

  std::vector<std::string> take() {
    addBlock(0, 0);
    for (uint32_t i = 0; i < sizeOf(flow.next_states()); ++i)
      lines.push_back("next " + table.states()->Get(i)->name()->str() + " = " +
                      nameOf(flow.next_states()->Get(i)));
    return std::move(lines);
  }

private:
  std::string nameOf(uint32_t slot) const {
    return names[slot].empty() ? "%" + std::to_string(slot) : names[slot];
  }
  /// "%4 f32[?,8]": where the slot gets its value.
  std::string defineSlot(uint32_t slot) const {
    const schema::Slot &info = *flow.slots()->Get(slot);
    std::string text = nameOf(slot) + " " + rt::nameOf(info.dtype()) + "[";
    for (uint32_t dim = 0; dim < sizeOf(info.dims()); ++dim)
      text += (dim ? "," : "") +
              (info.dims()->Get(dim) < 0 ? "?" : std::to_string(info.dims()->Get(dim)));
    return text + "]";
  }
  std::string numberOf(uint32_t number) const {
    return number < sizeOf(table.symbols()) ? table.symbols()->Get(number)->name()->str()
                                            : "#" + std::to_string(number);
  }
  std::string listOf(const Indices *slots, bool areDefined = false) const {
    std::string text;
    for (uint32_t i = 0; i < sizeOf(slots); ++i)
      text += (i ? ", " : "") + (areDefined ? defineSlot(slots->Get(i)) : nameOf(slots->Get(i)));
    return text;
  }
  void add(int depth, const std::string &line) {
    lines.push_back(std::string(static_cast<size_t>(2 * depth), ' ') + line);
  }

  void addBlock(uint32_t block, int depth) {
    const auto *steps = flow.blocks()->Get(block)->steps();
    for (uint32_t i = 0; i < sizeOf(steps); ++i)
      addStep(*steps->Get(i), depth);
  }

  void addStep(const schema::StepEntry &entry, int depth) {
    if (const auto *call = entry.step_as_CallStep()) {
      std::string numbers;
      for (uint32_t i = 0; i < sizeOf(call->numbers()); ++i)
        numbers += (i ? ", " : " with ") + numberOf(call->numbers()->Get(i));
      add(depth, listOf(call->outputs(), /*areDefined=*/true) + " = segment " +
                     std::to_string(call->segment()) +
                     (sizeOf(call->inputs()) ? " of " + listOf(call->inputs()) : "") + numbers);
    } else if (const auto *read = entry.step_as_ReadStep()) {
      add(depth, numberOf(read->number()) + " = the element of " + nameOf(read->slot()));
    } else if (const auto *size = entry.step_as_SizeStep()) {
      add(depth, numberOf(size->number()) + " = dim " + std::to_string(size->dim()) + " of " +
                     nameOf(size->slot()));
    } else if (const auto *branch = entry.step_as_IfStep()) {
      addIf(*branch, depth);
    } else if (const auto *loop = entry.step_as_LoopStep()) {
      addLoop(*loop, depth);
    }
  }

  void addIf(const schema::IfStep &step, int depth) {
    std::string results = listOf(step.results(), /*areDefined=*/true);
    add(depth, (results.empty() ? "" : results + " = ") + "if " + nameOf(step.condition()));
    addBranch(step.then_block(), step.then_values(), depth);
    add(depth, "else");
    addBranch(step.else_block(), step.else_values(), depth);
  }

  void addBranch(uint32_t block, const Indices *values, int depth) {
    addBlock(block, depth + 1);
    if (sizeOf(values))
      add(depth + 1, "give " + listOf(values));
  }

  void addLoop(const schema::LoopStep &step, int depth) {
    std::string line = listOf(step.results(), /*areDefined=*/true);
    if (sizeOf(step.stacks()))
      line += (line.empty() ? "" : ", ") + listOf(step.stacks(), /*areDefined=*/true);
    line += line.empty() ? "loop" : " = loop";
    if (step.trips() >= 0)
      line += " of " + nameOf(static_cast<uint32_t>(step.trips())) + " steps";
    if (step.condition() >= 0)
      line += " if " + nameOf(static_cast<uint32_t>(step.condition()));
    if (step.step() >= 0)
      line += ", step " + nameOf(static_cast<uint32_t>(step.step()));
    for (uint32_t i = 0; i < sizeOf(step.arguments()); ++i)
      line += (i ? ", " : " from ") + defineSlot(step.arguments()->Get(i)) + " = " +
              nameOf(step.initial()->Get(i));
    add(depth, line);
    addBlock(step.body(), depth + 1);
    std::string end = sizeOf(step.next()) ? "next " + listOf(step.next()) : "";
    if (sizeOf(step.gathered()))
      end += (end.empty() ? "stack " : ", stack ") + listOf(step.gathered());
    if (step.next_condition() >= 0)
      end += (end.empty() ? "while " : " while ") +
             nameOf(static_cast<uint32_t>(step.next_condition()));
    if (!end.empty())
      add(depth + 1, end);
  }

  const schema::Module &table;
  const schema::Flow &flow;
  std::vector<std::string> names, lines;
};

} // namespace

std::vector<std::string> describeFlow(const rt::Module &module) {
  return FlowPrinter(module).take();
}

std::vector<std::string> describeCuts(const rt::Module &module) {
  std::vector<std::string> reads;
  size_t branches = 0, loops = 0;
  const schema::Flow &flow = *module.flow();
  for (uint32_t block = 0; block < sizeOf(flow.blocks()); ++block) {
    const auto *steps = flow.blocks()->Get(block)->steps();
    for (uint32_t i = 0; i < sizeOf(steps); ++i) {
      const schema::StepEntry &entry = *steps->Get(i);
      branches += entry.step_as_IfStep() != nullptr;
      loops += entry.step_as_LoopStep() != nullptr;
      if (const auto *read = entry.step_as_ReadStep())
        reads.push_back(
            "the run reads " +
            (read->what() && read->what()->size() ? read->what()->str() : std::string("a number")) +
            ", which sizes after it depend on");
    }
  }
  auto count = [](size_t number, const std::string &one, const std::string &many) {
    return number == 1 ? "it has a " + one : "it has " + std::to_string(number) + " " + many;
  };
  if (branches)
    reads.push_back(count(branches, "branch", "branches") + ", and only one side runs");
  if (loops)
    reads.push_back(count(loops, "loop", "loops") + ", whose body runs once for each step");
  return reads;
}

} // namespace dlc
