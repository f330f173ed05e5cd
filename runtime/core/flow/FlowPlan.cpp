//===- FlowPlan.cpp - The steps of a flow, and when its tensors are needed no more ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/flow/FlowPlan.h"

#include <algorithm>
#include <limits>

using namespace dlc;
using namespace dlc::rt;

namespace {

using Indices = flatbuffers::Vector<uint32_t>;

template <class Visit> void forEach(const Indices *list, Visit visit) {
  for (size_t i = 0; list && i < list->size(); ++i)
    visit(list->Get(static_cast<uint32_t>(i)));
}

/// Finds the last step of its block at which each slot is read. A step with inner blocks reads what
/// these read.
class Planner {
public:
  Planner(const schema::Flow &flow, size_t numArguments)
      : flow(flow), blocks(flow.blocks()->size()), places(flow.slots() ? flow.slots()->size() : 0),
        current(blocks.size()) {
    for (uint32_t slot = 0; slot < numArguments; ++slot)
      write(slot, 0);
  }

  std::vector<PlannedBlock> run() {
    walk(0, [&] {
      forEach(flow.outputs(), [&](uint32_t slot) { read(slot); });
      forEach(flow.next_states(), [&](uint32_t slot) { read(slot); });
    });
    for (uint32_t slot = 0; slot < places.size(); ++slot) {
      const Place &place = places[slot];
      if (place.block == kNowhere)
        continue;
      PlannedBlock &home = blocks[place.block];
      home.own.push_back(slot);
      if (place.lastStep < home.steps.size())
        home.steps[place.lastStep].dead.push_back(slot);
    }
    for (const auto &[step, slot] : movable)
      if (std::find(step->dead.begin(), step->dead.end(), slot) != step->dead.end())
        step->moved.push_back(slot);
    return std::move(blocks);
  }

private:
  static constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();
  static constexpr size_t kEnd = std::numeric_limits<size_t>::max();
  struct Place {
    uint32_t block = kNowhere; ///< that writes the slot
    size_t lastStep = 0;       ///< of that block; kEnd: read at its end
    size_t reads = 0;
  };

  void write(uint32_t slot, uint32_t block) { places[slot] = {block, current[block], 0}; }
  void read(uint32_t slot) {
    places[slot].lastStep = current[places[slot].block];
    ++places[slot].reads;
  }
  void readIf(int32_t slot) {
    if (slot >= 0)
      read(static_cast<uint32_t>(slot));
  }

  template <class AtEnd> void walk(uint32_t block, AtEnd atEnd) {
    const schema::Block &table = *flow.blocks()->Get(block);
    size_t count = table.steps() ? table.steps()->size() : 0;
    blocks[block].steps.resize(count);
    for (size_t i = 0; i < count; ++i) {
      PlannedStep &step = blocks[block].steps[i];
      step.entry = table.steps()->Get(static_cast<uint32_t>(i));
      current[block] = i;
      walkStep(block, step);
    }
    current[block] = kEnd;
    atEnd();
  }

  void walkStep(uint32_t block, PlannedStep &planned) {
    auto reads = [&](uint32_t slot) { read(slot); };
    auto writes = [&](uint32_t slot) { write(slot, block); };
    const schema::StepEntry &entry = *planned.entry;
    if (const auto *call = entry.step_as_CallStep()) {
      forEach(call->inputs(), reads);
      forEach(call->outputs(), writes);
    } else if (const auto *number = entry.step_as_ReadStep()) {
      read(number->slot());
    } else if (const auto *size = entry.step_as_SizeStep()) {
      read(size->slot());
    } else if (const auto *branch = entry.step_as_IfStep()) {
      read(branch->condition());
      walk(branch->then_block(), [&] { forEach(branch->then_values(), reads); });
      walk(branch->else_block(), [&] { forEach(branch->else_values(), reads); });
      forEach(branch->results(), writes);
    } else if (const auto *loop = entry.step_as_LoopStep()) {
      walkLoop(block, planned, *loop);
    }
  }

  void walkLoop(uint32_t block, PlannedStep &planned, const schema::LoopStep &loop) {
    auto reads = [&](uint32_t slot) { read(slot); };
    readIf(loop.trips());
    readIf(loop.condition());
    forEach(loop.initial(), reads);
    std::vector<size_t> before;
    forEach(loop.initial(), [&](uint32_t slot) { before.push_back(places[slot].reads); });
    current[loop.body()] = 0;
    forEach(loop.arguments(), [&](uint32_t slot) { write(slot, loop.body()); });
    if (loop.step() >= 0)
      write(static_cast<uint32_t>(loop.step()), loop.body());
    walk(loop.body(), [&] {
      forEach(loop.next(), reads);
      forEach(loop.gathered(), reads);
      readIf(loop.next_condition());
    });
    for (size_t i = 0; i < before.size(); ++i)
      if (uint32_t slot = loop.initial()->Get(static_cast<uint32_t>(i));
          places[slot].block == block && places[slot].reads == before[i])
        movable.emplace_back(&planned, slot);
    forEach(loop.results(), [&](uint32_t slot) { write(slot, block); });
    forEach(loop.stacks(), [&](uint32_t slot) { write(slot, block); });
  }

  const schema::Flow &flow;
  std::vector<PlannedBlock> blocks;
  std::vector<Place> places;
  std::vector<size_t> current; ///< the step of each block that is walked
  std::vector<std::pair<PlannedStep *, uint32_t>> movable;
};

} // namespace

std::vector<PlannedBlock> dlc::rt::planFlow(const schema::Flow &flow, size_t numArguments) {
  return Planner(flow, numArguments).run();
}
