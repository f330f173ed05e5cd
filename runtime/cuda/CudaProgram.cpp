//===- CudaProgram.cpp - A module's program made ready for a GPU -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/CudaProgram.h"
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"

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
  block.release();
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
  Status status = upload(*plan, stream);
  if (!status.failed())
    status = kernels->build(*gpu, module, table, options);
  if (!status.failed())
    status = runInit(*plan, stream);
  // Also after a failure: the copies must have left the mapped file before it may go.
  Status finished = gpu->check(gpu->driver().streamSynchronize(stream), "run the init program");
  gpu->driver().streamDestroy(stream);
  return status.failed() ? status : finished;
}

Status CudaProgram::upload(const rt::Plan &plan, Stream stream) {
  for (const rt::PlannedBuffer &buffer : plan.buffers)
    if (buffer.storage == Storage::weight &&
        weightOffsets.emplace(buffer.index, bytesOfWeights).second) {
      [[maybe_unused]] bool fits =
          rt::checkedAdd(bytesOfWeights, plan.buffers[buffer.root].bytes, bytesOfWeights) &&
          rt::checkedAlign(bytesOfWeights, kWeightAlignment, bytesOfWeights);
      assert(fits && "each weight lies in the file");
    }
  int64_t total;
  if (!rt::checkedAdd(bytesOfWeights, plan.persistentBytes, total))
    return rt::malformed("the size of the weights overflows 64 bits");
  DLC_TRY(block.reserve(*gpu, total, "the weights"));
  for (auto [index, offset] : weightOffsets) {
    const schema::Segment &data = *module.table().weights()->Get(index)->data();
    if (data.bytes())
      DLC_TRY(gpu->check(gpu->driver().memcpyHtoDAsync(block.address() + offset, module.bytes(data),
                                                       data.bytes(), stream),
                         "upload the weights"));
  }
  return {};
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
    if (buffer.storage == Storage::weight)
      addresses[i] = block.address() + weightOffsets.at(buffer.index);
    else if (buffer.storage == Storage::persistent)
      addresses[i] = block.address() + bytesOfWeights + buffer.offset;
  }
}

/// Describes a matrix at `address` to TMA. The map holds the address: who moves a buffer makes it anew.
Result CudaProgram::encode(TensorMap &map, const rt::PlannedMap &planned, DevicePtr address) const {
  TensorMapType type = planned.dtype == schema::DType::f16    ? TensorMapType::F16
                       : planned.dtype == schema::DType::bf16 ? TensorMapType::Bf16
                                                              : TensorMapType::Tf32;
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
  std::vector<uint64_t> values; // a pointer and a dim have eight bytes each
  for (const rt::PlannedArg &arg : command.args)
    values.push_back(arg.isBuffer ? addresses[arg.value] : static_cast<uint64_t>(arg.value));
  std::vector<TensorMap> maps(command.maps.size());
  std::vector<void *> parameters;
  for (uint64_t &value : values)
    parameters.push_back(&value);
  for (TensorMap &map : maps)
    parameters.push_back(&map);
  const schema::Kernel &kernel = *table.kernels()->Get(command.launch->kernel());
  for (size_t i = 0; i < maps.size(); ++i)
    if (Result made = encode(maps[i], command.maps[i], addresses[command.maps[i].buffer]);
        made != Result::Success)
      return gpu->check(made, text("launch ", rt::describeKernel(kernel)));
  auto block = [&](uint32_t axis) {
    return axis < kernel.block()->size() ? kernel.block()->Get(axis) : 1;
  };
  abi::Spread spread = {command.grid[0], command.scratchBytes};
  // One block a multiprocessor: it takes tile after tile, or more columns.
  if (command.launch->persistent())
    spread = spreadOf(*gpu, *command.launch, command.grid[0], command.scratchBytes);
  auto grid = [&](int axis) {
    return static_cast<unsigned>(axis == 0 ? spread.blocks : command.grid[axis]);
  };
  Function function = (*kernels)[command.launch->kernel()];
  auto dynamicShared = static_cast<unsigned>(spread.sharedBytes);
  LaunchAttribute attribute;
  LaunchConfig config = {grid(0),  grid(1),       grid(2), block(0),   block(1),
                         block(2), dynamicShared, stream,  &attribute, 1};
  Result result =
      kernel.cooperative()
          ? driver.launchCooperativeKernel(function, grid(0), grid(1), grid(2), block(0), block(1),
                                           block(2), dynamicShared, stream, parameters.data())
      : early && mayBeginEarly(kernel)
          ? driver.launchKernelEx(&config, function, parameters.data(), nullptr)
          : driver.launchKernel(function, grid(0), grid(1), grid(2), block(0), block(1), block(2),
                                dynamicShared, stream, parameters.data(), nullptr);
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
