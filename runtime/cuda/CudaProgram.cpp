//===- CudaProgram.cpp - A module's program made ready for a GPU -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/CudaProgram.h"
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cstring>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using rt::text;
using schema::Storage;

/// Of each weight in the block: what memory transactions like.
static constexpr int64_t kWeightAlignment = 256;

rt::Expected<std::shared_ptr<CudaProgram>> CudaProgram::get(rt::Module &module, int ordinal,
                                                            const KernelOptions &options) {
  const schema::Program *table = module.program(schema::Target::cuda);
  if (!table)
    return Status(DLC_UNSUPPORTED,
                  "the module has no program for CUDA: compile it with '--target cuda'");
  rt::Expected<std::shared_ptr<GpuDevice>> device = GpuDevice::open(ordinal);
  if (device.failed())
    return device.status();
  DLC_TRY((*device)->usable());
  auto prepare = [&]() -> rt::Expected<std::shared_ptr<rt::PreparedProgram>> {
    std::shared_ptr<CudaProgram> made(new CudaProgram(module, *table, *device));
    DLC_TRY(made->prepare(options));
    return std::shared_ptr<rt::PreparedProgram>(std::move(made));
  };
  auto prepared = module.prepared(text((*device)->driver().path, " ", ordinal), prepare);
  if (prepared.failed())
    return prepared.status();
  return std::static_pointer_cast<CudaProgram>(*prepared);
}

CudaProgram::~CudaProgram() {
  ContextScope scope(*gpu);
  kernels.reset();
  weights.block.release();
  temporaries.block.release();
}

Status CudaProgram::prepare(const KernelOptions &options) {
  ContextScope scope(*gpu);
  DLC_TRY(scope.status());
  kernels = std::make_unique<Kernels>();
  // The init program depends on no symbol, so any values serve.
  std::vector<int64_t> symbols, values;
  if (module.table().symbols())
    for (const schema::Symbol *symbol : *module.table().symbols())
      symbols.push_back(symbol->min());
  module.expressions().evaluate(symbols, module.expressions().size(), values);
  rt::Expected<rt::Plan> plan = planProgram(table, values, rt::Phase::init, rt::Interface::arena);
  if (plan.failed())
    return plan.status().within("init program: ");

  Stream stream = nullptr;
  DLC_TRY(gpu->check(gpu->driver().streamCreate(&stream, kStreamNonBlocking), "create a stream"));
  // The copies go on while kernels are compiled; and where memory lacks, that is known first.
  Status status = upload(*plan, /*isTemporary=*/false, stream);
  if (!status.failed())
    status = upload(*plan, /*isTemporary=*/true, stream);
  if (!status.failed())
    status = kernels->build(*gpu, module, table, options);
  if (!status.failed())
    status = runInit(*plan, stream);
  // Also after a failure: the copies must have left the mapped file before it may go.
  Status finished = gpu->check(gpu->driver().streamSynchronize(stream), "run the init program");
  gpu->driver().streamDestroy(stream);
  temporaries.block.release();
  releasePages();
  return status.failed() ? status : finished;
}

Status CudaProgram::upload(const rt::Plan &plan, bool isTemporary, Stream stream) {
  Weights &it = isTemporary ? temporaries : weights;
  for (const rt::PlannedBuffer &buffer : plan.buffers)
    if (buffer.storage == Storage::weight && buffer.isTemporary == isTemporary &&
        it.offsets.emplace(buffer.index, it.bytes).second) {
      [[maybe_unused]] bool fits =
          rt::checkedAdd(it.bytes, plan.buffers[buffer.root].bytes, it.bytes) &&
          rt::checkedAlign(it.bytes, kWeightAlignment, it.bytes);
      assert(fits && "each weight lies in the file");
    }
  int64_t total;
  if (!rt::checkedAdd(it.bytes, isTemporary ? plan.temporaryBytes : plan.persistentBytes, total))
    return rt::malformed("the size of the weights overflows 64 bits");
  DLC_TRY(it.block.reserve(*gpu, total, "the weights"));
  for (auto [index, offset] : it.offsets) {
    const schema::Segment &data = *module.table().weights()->Get(index)->data();
    if (data.bytes())
      DLC_TRY(gpu->check(gpu->driver().memcpyHtoDAsync(it.block.address() + offset,
                                                       module.bytes(data), data.bytes(), stream),
                         "upload the weights"));
  }
  return {};
}

/// The GPU has the weights: the memory of this machine need not hold them as well.
void CudaProgram::releasePages() const {
  for (const Weights *those : {&weights, &temporaries})
    for (auto [index, offset] : those->offsets)
      module.releasePages(*module.table().weights()->Get(index)->data());
}

Status CudaProgram::runInit(const rt::Plan &plan, Stream stream) const {
  std::vector<DevicePtr> addresses(plan.buffers.size());
  resolve(plan, addresses);
  for (const rt::PlannedCommand &command : plan.commands)
    DLC_TRY(enqueue(plan, command, addresses, stream, /*early=*/false).within("init program: "));
  return {};
}

void CudaProgram::resolve(const rt::Plan &plan, std::vector<DevicePtr> &addresses) const {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const rt::PlannedBuffer &buffer = plan.buffers[i];
    const Weights &those = buffer.isTemporary ? temporaries : weights;
    if (buffer.storage == Storage::weight)
      addresses[i] = those.block.address() + those.offsets.at(buffer.index);
    else if (buffer.storage == Storage::persistent)
      addresses[i] = those.block.address() + those.bytes + buffer.offset;
  }
}

/// Describes a matrix at `address` to TMA. The map holds the address: who moves a buffer makes it
/// anew.
Result CudaProgram::encode(TensorMap &map, const rt::PlannedMap &planned, DevicePtr address) const {
  TensorMapType type = planned.dtype == schema::DType::f16    ? TensorMapType::F16
                       : planned.dtype == schema::DType::bf16 ? TensorMapType::Bf16
                       : planned.dtype == schema::DType::f32  ? TensorMapType::Tf32
                                                              : TensorMapType::U8;
  auto unsignedOf = [](int64_t value) { return static_cast<unsigned long long>(value); };
  const unsigned long long extents[] = {unsignedOf(planned.columns), unsignedOf(planned.rows)},
                           strides[] = {unsignedOf(planned.step * rt::bytesOf(planned.dtype))};
  const unsigned ones[] = {1, 1};
  return gpu->driver().tensorMapEncodeTiled(&map, static_cast<int>(type), 2,
                                            reinterpret_cast<void *>(address), extents, strides,
                                            planned.box, ones, 0, kSwizzle128, kPromoteL2To256, 0);
}

/// Drivers from which on a capture keeps such launches.
static constexpr int kOldestEarlyDriver = 12030;

bool CudaProgram::mayBeginEarly(const schema::Kernel &kernel) const {
  const Driver &driver = gpu->driver();
  return kernel.waits() && !kernel.cooperative() && gpu->architecture() >= 90 &&
         kernels->haveWaits() && driver.launchKernelEx && driver.version >= kOldestEarlyDriver;
}

Status CudaProgram::describe(const rt::PlannedCommand &command,
                             const std::vector<DevicePtr> &addresses,
                             LaunchParameters &launch) const {
  const schema::Kernel &kernel = *table.kernels()->Get(command.launch->kernel());
  for (const rt::PlannedArg &arg : command.args)
    launch.values.push_back(arg.isBuffer ? addresses[arg.value] : static_cast<uint64_t>(arg.value));
  launch.maps.resize(command.maps.size());
  for (size_t i = 0; i < launch.maps.size(); ++i)
    if (Result made = encode(launch.maps[i], command.maps[i], addresses[command.maps[i].buffer]);
        made != Result::Success)
      return gpu->check(made, text("launch ", rt::describeKernel(kernel)));
  for (uint64_t &value : launch.values)
    launch.parameters.push_back(&value);
  for (TensorMap &map : launch.maps)
    launch.parameters.push_back(&map);
  abi::Spread spread = {command.grid[0], command.scratchBytes};
  // One block a multiprocessor: it takes tile after tile, or more columns.
  if (command.launch->persistent())
    spread = spreadOf(*gpu, *command.launch, command.grid[0], command.scratchBytes);
  for (uint32_t axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = static_cast<unsigned>(axis == 0 ? spread.blocks : command.grid[axis]);
    launch.block[axis] = axis < kernel.block()->size() ? kernel.block()->Get(axis) : 1;
  }
  launch.sharedBytes = static_cast<unsigned>(spread.sharedBytes);
  launch.function = (*kernels)[command.launch->kernel()];
  return {};
}

Status CudaProgram::enqueue(const rt::Plan &plan, const rt::PlannedCommand &command,
                            const std::vector<DevicePtr> &addresses, Stream stream,
                            bool early) const {
  if (command.skip)
    return {};
  const Driver &driver = gpu->driver();
  if (!command.launch)
    return gpu->check(driver.memcpyDtoDAsync(addresses[command.target], addresses[command.source],
                                             plan.buffers[command.source].bytes, stream),
                      "copy a buffer");
  LaunchParameters launch;
  DLC_TRY(describe(command, addresses, launch));
  const auto &[x, y, z] = launch.grid;
  const auto &[width, height, depth] = launch.block;
  const schema::Kernel &kernel = *table.kernels()->Get(command.launch->kernel());
  LaunchAttribute attribute;
  LaunchConfig config = {x, y, z, width, height, depth, launch.sharedBytes, stream, &attribute, 1};
  void **parameters = launch.parameters.data();
  Result result =
      kernel.cooperative()
          ? driver.launchCooperativeKernel(launch.function, x, y, z, width, height, depth,
                                           launch.sharedBytes, stream, parameters)
      : early && mayBeginEarly(kernel)
          ? driver.launchKernelEx(&config, launch.function, parameters, nullptr)
          : driver.launchKernel(launch.function, x, y, z, width, height, depth, launch.sharedBytes,
                                stream, parameters, nullptr);
  if (result == Result::CooperativeLaunchTooLarge)
    return {DLC_UNSUPPORTED,
            text(rt::describeKernel(kernel), " has ", command.grid[0],
                 " blocks that wait for each ",
                 "other, more than this GPU holds at once: use one with more multiprocessors, or ",
                 "'--device cpu'")};
  return result == Result::Success
             ? Status()
             : gpu->check(result, text("launch ", rt::describeKernel(kernel)));
}

bool LaunchParameters::isSame(const LaunchParameters &other) const {
  return function == other.function && values == other.values &&
         std::equal(grid, grid + 3, other.grid) && std::equal(block, block + 3, other.block) &&
         sharedBytes == other.sharedBytes &&
         std::equal(maps.begin(), maps.end(), other.maps.begin(), other.maps.end(),
                    [](const TensorMap &left, const TensorMap &right) {
                      return std::memcmp(&left, &right, sizeof(TensorMap)) == 0;
                    });
}

Status CudaProgram::patch(GraphExec graph, GraphNode node, const rt::Plan &plan,
                          const rt::PlannedCommand &command,
                          const std::vector<DevicePtr> &addresses, LaunchParameters &last) const {
  const Driver &driver = gpu->driver();
  auto checkPatch = [&](Result result) { return gpu->check(result, "change a graph"); };
  if (!command.launch) {
    MemcpyNodeParams copy = {};
    copy.source.device = addresses[command.source];
    copy.target.device = addresses[command.target];
    copy.width = static_cast<size_t>(plan.buffers[command.source].bytes);
    copy.height = copy.depth = 1;
    return checkPatch(driver.graphExecMemcpyNodeSetParams
                          ? driver.graphExecMemcpyNodeSetParams(graph, node, &copy, gpu->context())
                          : Result::NotSupported);
  }
  LaunchParameters launch;
  DLC_TRY(describe(command, addresses, launch));
  if (launch.isSame(last))
    return {};
  KernelNodeParams parameters = {};
  parameters.function = launch.function;
  parameters.gridX = launch.grid[0];
  parameters.gridY = launch.grid[1];
  parameters.gridZ = launch.grid[2];
  parameters.blockX = launch.block[0];
  parameters.blockY = launch.block[1];
  parameters.blockZ = launch.block[2];
  parameters.sharedBytes = launch.sharedBytes;
  parameters.parameters = launch.parameters.data();
  DLC_TRY(checkPatch(driver.graphExecKernelNodeSetParams(graph, node, &parameters)));
  last = std::move(launch);
  return {};
}
