//===- Replay.cpp - Each kernel of a CUDA program, on values of the CPU's -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/hardware/Replay.h"

#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/package/Plan.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/schema/KernelAbi.h"
#include "test/hardware/CpuRecords.h"

#include <algorithm>
#include <cstring>

using namespace dlc;
using namespace dlc::hardware;
using rt::PlannedBuffer;
using rt::PlannedCommand;
using rt::Status;
using schema::Storage;

namespace {

constexpr const char *kNotCleared = "what it clears is not 0 everywhere";

/// A kernel whose result is not recorded, as long as no kernel that reads it has shown it to be
/// right.
struct Pending {
  std::string kernel, problem;
  bool isRead = false; ///< a kernel that reads the result has run
};

/// Memory of a root buffer of the CUDA program.
struct Memory {
  cuda::DeviceBlock block;
  Bytes content;                ///< what is in it
  std::vector<Pending> pending; ///< what stands between this and recorded values
  bool isWorkspace = false;     ///< a kernel cleared it for another one
};

class Replayer {
public:
  Replayer(rt::Module &module, const Run &run, int roundingBits, ReplayReport &report)
      : module(module), run(run), report(report), records(module, run, roundingBits) {}
  Status replay(int ordinal);

private:
  Status prepareMemory();
  Status launch(const rt::Plan &plan, const PlannedCommand &command);
  Status execute(const rt::Plan &plan, const PlannedCommand &command,
                 const std::vector<uint32_t> &roots, std::vector<Bytes> &after);
  void judge(const std::string &kernel, const std::vector<uint32_t> &roots,
             const std::vector<Bytes> &after);
  bool clears(const std::string &kernel) const;
  void judgeClear(const std::string &kernel, uint32_t root, const Bytes &after);
  Status launchBeside(const rt::Plan &plan, const PlannedCommand &command);
  void blame(const Pending &one);
  bool mayStayUnknown(uint32_t root, const Pending &one) const;
  Status copy(const rt::Plan &plan, const PlannedCommand &command);
  Status fetch(cuda::DevicePtr from, char *to, size_t bytes);
  void finish();

  rt::Module &module;
  const Run &run;
  ReplayReport &report;
  rt::Binding binding;
  CpuRecords records;
  std::shared_ptr<cuda::CudaProgram> program;
  const schema::Program *table = nullptr; ///< for CUDA
  std::vector<Memory> memory;             ///< by root
  std::vector<cuda::DevicePtr> addresses; ///< by buffer
  std::set<std::string> wrong;
};

} // namespace

bool hardware::canReplay(const rt::Module &module) {
  if (!module.program(schema::Target::cpu) || !module.program(schema::Target::cuda))
    return false;
  if (module.table().symbols())
    for (const schema::Symbol *symbol : *module.table().symbols())
      if (symbol->counted())
        return false;
  return true;
}

//===- The CUDA program ---------------------------------------------------===//

Status Replayer::prepareMemory() {
  cuda::GpuDevice &device = program->device();
  auto planned = rt::planProgram(*table, binding.values, rt::Phase::main, rt::Interface::arena);
  if (planned.failed())
    return planned.status();
  const rt::Plan &plan = *planned;
  memory.resize(plan.buffers.size());
  addresses.assign(plan.buffers.size(), 0);
  program->resolve(plan, addresses);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlannedBuffer &buffer = plan.buffers[i];
    if (isFixed(buffer.storage))
      continue;
    if (buffer.root == i) {
      Memory &it = memory[i];
      DLC_TRY(it.block.reserve(device, std::max<int64_t>(buffer.bytes, abi::kExchangeCounterBytes),
                               "a buffer"));
      it.content.assign(size_t(buffer.bytes), kPoison);
      if (buffer.storage == Storage::input)
        it.content = run.inputs[buffer.index].data;
      else if (buffer.storage == Storage::state)
        it.content.assign(size_t(buffer.bytes), 0);
    }
    addresses[i] = memory[buffer.root].block.address();
  }
  return {};
}

/// Runs a command on the contents of its buffers; `after`: what is in `roots` then.
Status Replayer::execute(const rt::Plan &plan, const PlannedCommand &command,
                         const std::vector<uint32_t> &roots, std::vector<Bytes> &after) {
  cuda::GpuDevice &device = program->device();
  const cuda::Driver &driver = device.driver();
  cuda::Stream stream = nullptr;
  DLC_TRY(device.check(driver.streamCreate(&stream, cuda::kStreamNonBlocking), "create a stream"));
  Status status;
  for (const rt::PlannedArg &arg : command.args)
    if (arg.isBuffer && plan.buffers[size_t(arg.value)].storage == Storage::exchange &&
        !status.failed())
      status = device.check(
          driver.memsetD8Async(addresses[size_t(arg.value)], 0, abi::kExchangeCounterBytes, stream),
          "clear a buffer");
  for (uint32_t root : roots)
    if (const Bytes &content = memory[root].content; !content.empty() && !status.failed())
      status = device.check(
          driver.memcpyHtoDAsync(addresses[root], content.data(), content.size(), stream),
          "copy to the GPU");
  if (!status.failed())
    status = program->enqueue(plan, command, addresses, stream, /*early=*/false);
  for (uint32_t root : roots) {
    after.emplace_back(memory[root].content.size());
    if (!after.back().empty() && !status.failed())
      status = device.check(
          driver.memcpyDtoHAsync(after.back().data(), addresses[root], after.back().size(), stream),
          "copy from the GPU");
  }
  Status finished = device.check(driver.streamSynchronize(stream), "run a kernel");
  driver.streamDestroy(stream);
  return status.failed() ? status : finished;
}

/// Whether a schedule added the kernel to clear a workspace of another one: the CPU program, whose
/// schedules want none, has no such buffer, and one of the same type would be there by chance.
bool Replayer::clears(const std::string &kernel) const {
  size_t end = kernel.rfind("_clear");
  if (end == std::string::npos ||
      kernel.find_first_not_of("0123456789", end + strlen("_clear")) != std::string::npos)
    return false;
  return std::any_of(
      table->kernels()->begin(), table->kernels()->end(),
      [&](const schema::Kernel *it) { return it->name()->string_view() == kernel.substr(0, end); });
}

/// A workspace is 0 everywhere when the kernel that works in it begins.
void Replayer::judgeClear(const std::string &kernel, uint32_t root, const Bytes &after) {
  Memory &it = memory[root];
  it.isWorkspace = true;
  it.content = after;
  it.pending.clear();
  report.right.insert(kernel); // taken back at the end where it is wrong
  if (std::all_of(after.begin(), after.end(), [](char byte) { return byte == 0; }))
    return;
  it.pending.push_back({kernel, kNotCleared});
  blame(it.pending.back());
}

/// Whether a launch gave what is recorded, and what its buffers hold from now on.
void Replayer::judge(const std::string &kernel, const std::vector<uint32_t> &roots,
                     const std::vector<Bytes> &after) {
  if (clears(kernel) && roots.size() == 1)
    return judgeClear(kernel, roots.front(), after.front());
  std::vector<Pending> before; // of everything that the kernel reads
  for (uint32_t root : roots) {
    for (Pending &one : memory[root].pending)
      one.isRead = true;
    before.insert(before.end(), memory[root].pending.begin(), memory[root].pending.end());
  }
  // A schedule's own buffers have no counterpart: what a kernel leaves in them says nothing where
  // its results are right.
  bool isRight = true, isShown = false;
  std::vector<uint32_t> own;
  for (size_t i = 0; i < roots.size(); ++i) {
    Memory &it = memory[roots[i]];
    if (after[i] == it.content)
      continue;
    std::string problem = it.isWorkspace ? kNoCounterpart : "";
    Record *record =
        it.isWorkspace ? nullptr
                       : records.find(*table->buffers()->Get(roots[i]), kernel, after[i], problem);
    it.content = record ? record->bytes : after[i];
    it.pending.clear();
    if (record) {
      record->isTaken = isShown = true;
      continue;
    }
    if (problem == kNoCounterpart)
      own.push_back(roots[i]);
    else
      isRight = false;
    it.pending = before;
    it.pending.push_back({kernel, problem});
  }
  bool hasWritten = !own.empty() || !isRight;
  if (!isRight || (hasWritten && !isShown))
    return;
  report.right.insert(kernel);
  for (uint32_t root : own)
    memory[root].pending.clear();
  for (const Pending &earlier : before) {
    report.right.insert(earlier.kernel);
    for (Memory &it : memory)
      std::erase_if(it.pending, [&](const Pending &one) { return one.kernel == earlier.kernel; });
  }
}

Status Replayer::launch(const rt::Plan &plan, const PlannedCommand &command) {
  std::string kernel = nameOf(*table, command);
  std::vector<uint32_t> roots = rootsOf(plan, command);
  std::vector<Bytes> after, again;
  DLC_TRY(execute(plan, command, roots, after));
  DLC_TRY(execute(plan, command, roots, again));
  if (after != again && wrong.insert(kernel).second)
    report.problems.push_back(rt::describeKernel(*table->kernels()->Get(command.launch->kernel())) +
                              ": the same input gives other bits the second time");
  judge(kernel, roots, after);
  return {};
}

/// Launches what stands in for a command on this GPU; afterwards its buffers are as before.
Status Replayer::launchBeside(const rt::Plan &plan, const PlannedCommand &command) {
  std::vector<uint32_t> roots = rootsOf(plan, command);
  std::vector<std::pair<Bytes, std::vector<Pending>>> before;
  for (uint32_t root : roots)
    before.emplace_back(memory[root].content, memory[root].pending);
  std::vector<bool> taken;
  for (const Record &record : records.all)
    taken.push_back(record.isTaken);
  DLC_TRY(launch(plan, command));
  for (size_t i = 0; i < taken.size(); ++i)
    records.all[i].isTaken = taken[i];
  for (size_t i = 0; i < roots.size(); ++i) {
    Memory &it = memory[roots[i]];
    // No other kernel reads what it gave: now or never.
    if (!it.pending.empty() && it.pending.back().kernel == nameOf(*table, command)) {
      if (mayStayUnknown(roots[i], it.pending.back()))
        report.unknown.insert(it.pending.back().kernel);
      else
        blame(it.pending.back());
    }
    it.content = before[i].first;
    it.pending = before[i].second;
  }
  return {};
}

Status Replayer::fetch(cuda::DevicePtr from, char *to, size_t bytes) {
  cuda::GpuDevice &device = program->device();
  const cuda::Driver &driver = device.driver();
  cuda::Stream stream = nullptr;
  DLC_TRY(device.check(driver.streamCreate(&stream, cuda::kStreamNonBlocking), "create a stream"));
  Status status =
      device.check(driver.memcpyDtoHAsync(to, from, bytes, stream), "copy from the GPU");
  Status finished = device.check(driver.streamSynchronize(stream), "copy from the GPU");
  driver.streamDestroy(stream);
  return status.failed() ? status : finished;
}

Status Replayer::copy(const rt::Plan &plan, const PlannedCommand &command) {
  const PlannedBuffer &from = plan.buffers[command.source];
  Memory &source = memory[from.root], &target = memory[plan.buffers[command.target].root];
  target.pending = source.pending;
  if (isFixed(from.storage)) // an output may be a constant, which the GPU alone holds
    return fetch(addresses[command.source], target.content.data(), size_t(from.bytes));
  std::copy_n(source.content.begin(), from.bytes, target.content.begin());
  return {};
}

/// Names a kernel that nothing has shown to be right, once.
void Replayer::blame(const Pending &one) {
  if (!wrong.insert(one.kernel).second)
    return;
  for (const schema::Kernel *kernel : *table->kernels())
    if (kernel->name()->str() == one.kernel)
      report.problems.push_back(rt::describeKernel(*kernel) + ": " + one.problem);
}

/// Whether a kernel may go unconfirmed without a fault: what it wrote has no
/// counterpart, and no kernel that reads it runs under these shapes.
bool Replayer::mayStayUnknown(uint32_t root, const Pending &one) const {
  return table->buffers()->Get(root)->storage() == Storage::arena && !one.isRead &&
         one.problem == kNoCounterpart;
}

/// Compares the outputs, and names the kernels that nothing has shown to be right.
void Replayer::finish() {
  // The first of a chain: those after it work on what it gave.
  for (size_t i = 0; i < memory.size(); ++i)
    if (!memory[i].pending.empty()) {
      const Pending &first = memory[i].pending.front();
      if (mayStayUnknown(uint32_t(i), first))
        report.unknown.insert(first.kernel);
      else
        blame(first);
    }
  for (const Memory &it : memory)
    for (const Pending &one : it.pending)
      report.right.erase(one.kernel);
  for (size_t i = 0; i < memory.size(); ++i) {
    const schema::Buffer &buffer = *table->buffers()->Get(uint32_t(i));
    if (buffer.storage() != Storage::output || !memory[i].pending.empty() ||
        buffer.index() >= records.outputs.size())
      continue;
    Rule rule = run.outputs[buffer.index()].rule;
    std::string off =
        difference(rt::toC(buffer.dtype()), rule, records.roundingBits(), memory[i].content.data(),
                   records.outputs[buffer.index()].bytes.data(), memory[i].content.size());
    if (!off.empty())
      report.problems.push_back("output " + run.outputs[buffer.index()].name +
                                ", replayed: " + off);
  }
}

Status Replayer::replay(int ordinal) {
  std::vector<rt::Dims> dims;
  for (const Input &input : run.inputs)
    dims.push_back(input.dims);
  auto bound = rt::bindShapes(module, dims);
  if (bound.failed())
    return bound.status();
  binding = bound.take();
  DLC_TRY(records.record(binding));
  auto prepared = cuda::CudaProgram::get(module, ordinal, {});
  if (prepared.failed())
    return prepared.status();
  program = prepared.take();
  table = &program->program();
  cuda::ContextScope scope(program->device());
  DLC_TRY(scope.status());
  DLC_TRY(prepareMemory());
  auto planFor = [&](const rt::VariantUse &variants) {
    return rt::planProgram(*table, binding.values, rt::Phase::main, rt::Interface::arena, variants);
  };
  rt::VariantUse general, ofAnyGpu = program->variants();
  general.any = false;
  ofAnyGpu.gpu = 0;
  auto common = planFor(general), ranged = planFor(ofAnyGpu), own = planFor(program->variants());
  for (auto *planned : {&common, &ranged, &own}) {
    if (planned->failed())
      return planned->status();
    DLC_TRY(program->require(**planned, {}));
  }
  for (size_t i = 0; i < common->commands.size(); ++i) {
    const PlannedCommand &command = common->commands[i];
    if (command.skip)
      continue;
    if (!command.launch) {
      DLC_TRY(copy(*common, command));
      continue;
    }
    const schema::Launch *last = command.launch;
    for (auto *planned : {&ranged, &own})
      if (const PlannedCommand &other = (*planned)->commands[i];
          other.launch != last && other.launch != command.launch && !other.skip) {
        DLC_TRY(launchBeside(**planned, other));
        last = other.launch;
      }
    DLC_TRY(launch(*common, command));
  }
  finish();
  for (const std::string &kernel : wrong)
    report.right.erase(kernel);
  return {};
}

Status hardware::replay(rt::Module &module, const Run &run, int roundingBits, int ordinal,
                        ReplayReport &report) {
  return Replayer(module, run, roundingBits, report).replay(ordinal);
}
