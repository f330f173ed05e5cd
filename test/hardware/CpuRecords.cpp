//===- CpuRecords.cpp - What each command of a CPU program writes -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/hardware/CpuRecords.h"

#include "runtime/core/DType.h"
#include "runtime/schema/KernelAbi.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace dlc;
using namespace dlc::hardware;
using rt::PlannedBuffer;
using rt::PlannedCommand;
using rt::Status;
using schema::Storage;

/// How far a kernel's values may lie from the CPU's, in roundings of the largest: sums have another
/// order, what is f16 or bf16 is rounded once more where the CPU stores what one CUDA kernel keeps,
/// and factors in tf32 are rounded, on the GPU alone.
constexpr double kRoundings = 300, kNarrowRoundings = 4, kFactorRoundings = 8;

std::vector<uint32_t> hardware::rootsOf(const rt::Plan &plan, const PlannedCommand &command) {
  std::vector<uint32_t> roots;
  for (const rt::PlannedArg &arg : command.args) {
    if (!arg.isBuffer)
      continue;
    const PlannedBuffer &buffer = plan.buffers[size_t(arg.value)];
    if (!isFixed(buffer.storage) && buffer.storage != Storage::exchange &&
        std::find(roots.begin(), roots.end(), buffer.root) == roots.end())
      roots.push_back(buffer.root);
  }
  return roots;
}

std::string hardware::nameOf(const schema::Program &program, const PlannedCommand &command) {
  return program.kernels()->Get(command.launch->kernel())->name()->str();
}

//===- Recording ----------------------------------------------------------===//

/// Memory at a multiple of what kernels expect.
static uint8_t *aligned(Bytes &bytes, int64_t count) {
  bytes.assign(size_t(count) + 2 * abi::kBufferAlignment, kPoison);
  auto address = reinterpret_cast<uintptr_t>(bytes.data());
  uintptr_t step = abi::kBufferAlignment;
  return reinterpret_cast<uint8_t *>((address + step - 1) / step * step);
}

Status CpuRecords::recordCommand(cpu::CommandRunner &runner, const rt::Plan &plan, size_t command,
                                 const rt::Binding &binding, const cpu::Addresses &places) {
  const schema::Program &cpuTable = *module.program(schema::Target::cpu);
  rt::Plan one;
  one.buffers = plan.buffers;
  one.commands = {plan.commands[command]};
  const PlannedCommand &it = one.commands[0];
  if (it.skip)
    return {};
  std::vector<uint32_t> roots =
      it.launch ? rootsOf(plan, it) : std::vector<uint32_t>{plan.buffers[it.target].root};
  std::vector<Bytes> before;
  for (uint32_t root : roots)
    before.emplace_back(places.of[root], places.of[root] + plan.buffers[root].bytes);
  DLC_TRY(runner.run(one, binding.values, places, nullptr));
  for (size_t i = 0; i < roots.size(); ++i) {
    const uint8_t *now = places.of[roots[i]];
    if (before[i].empty() || std::memcmp(now, before[i].data(), before[i].size()) == 0)
      continue;
    all.push_back({cpuTable.buffers()->Get(roots[i]),
                   it.launch ? nameOf(cpuTable, it) : std::string(),
                   Bytes(now, now + before[i].size())});
  }
  return {};
}

Status CpuRecords::record(const rt::Binding &binding) {
  auto pool = cpu::ThreadPool::shared(1);
  auto prepared = cpu::CpuProgram::get(module, pool, /*checked=*/false);
  if (prepared.failed())
    return prepared.status();
  const schema::Program &cpuTable = (*prepared)->program();
  auto planned = rt::planProgram(cpuTable, binding.values, rt::Phase::main, rt::Interface::arena);
  if (planned.failed())
    return planned.status();
  rt::Plan plan = planned.take();
  cpu::Addresses places;
  places.of.assign(plan.buffers.size(), nullptr);
  (*prepared)->resolve(plan, places);
  std::vector<Bytes> blocks(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlannedBuffer &buffer = plan.buffers[i];
    if (isFixed(buffer.storage))
      continue;
    if (buffer.root != i) {
      places.of[i] = places.of[buffer.root];
      continue;
    }
    places.of[i] = aligned(blocks[i], buffer.bytes);
    if (buffer.storage == Storage::input)
      std::memcpy(places.of[i], run.inputs[buffer.index].data.data(), size_t(buffer.bytes));
    else if (buffer.storage == Storage::state)
      std::memset(places.of[i], 0, size_t(buffer.bytes));
  }
  cpu::CommandRunner runner(module, cpuTable, (*prepared)->kernels(), pool, /*checked=*/false);
  DLC_TRY(runner.reserve(plan));
  for (size_t i = 0; i < plan.commands.size(); ++i)
    DLC_TRY(recordCommand(runner, plan, i, binding, places));
  outputs.resize(module.numOutputs());
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (const PlannedBuffer &buffer = plan.buffers[i];
        buffer.storage == Storage::output && buffer.root == i)
      outputs[buffer.index] = {cpuTable.buffers()->Get(uint32_t(i)),
                               {},
                               Bytes(places.of[i], places.of[i] + buffer.bytes)};
  return {};
}

//===- Comparing ----------------------------------------------------------===//

Record *CpuRecords::find(const schema::Buffer &buffer, const std::string &kernel,
                         const Bytes &bytes, std::string &problem) {
  auto sameOrder = [](const auto *a, const auto *b) {
    size_t count = a ? a->size() : 0;
    return count == (b ? b->size() : 0) && (!count || std::equal(a->begin(), a->end(), b->begin()));
  };
  std::vector<Record *> candidates;
  for (Record &record : all)
    if (record.bytes.size() == bytes.size() && record.buffer->dtype() == buffer.dtype() &&
        sameOrder(record.buffer->order(), buffer.order()) &&
        record.buffer->tile_dim() == buffer.tile_dim())
      candidates.push_back(&record);
  std::sort(candidates.begin(), candidates.end(), [&](const Record *a, const Record *b) {
    auto rank = [&](const Record *it) { // addresses: in the order of the commands
      std::string same = "dlc_" + it->kernel;
      bool isVariant = kernel.starts_with(same + "_"); // more or less: it is only looked at first
      return std::tuple(it->isTaken, kernel != same && !isVariant, it);
    };
    return rank(a) < rank(b);
  });
  dlc_dtype dtype = rt::toC(buffer.dtype());
  Rule rule;
  rule.roundings = dtype == DLC_F16 || dtype == DLC_BF16 ? kNarrowRoundings
                   : dtype == DLC_F32 && bits < 24       ? kFactorRoundings
                                                         : kRoundings;
  // Several may be near enough: a buffer of which parts are still to be written, where values are
  // so large that the others are nothing beside them. The nearest has the most bytes in common.
  Record *nearest = nullptr;
  size_t mostEqual = 0;
  for (Record *record : candidates) {
    std::string off =
        difference(dtype, rule, bits, bytes.data(), record->bytes.data(), bytes.size());
    if (problem.empty())
      problem = off;
    if (!off.empty())
      continue;
    size_t equal = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
      equal += bytes[i] == record->bytes[i];
    if (!nearest || equal > mostEqual) {
      nearest = record;
      mostEqual = equal;
    }
  }
  if (!nearest && problem.empty())
    problem = kNoCounterpart;
  return nearest;
}
