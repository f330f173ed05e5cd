//===- SteppedProgram.cpp - A program that is run one command at a time -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/SteppedProgram.h"

#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/cpu/CpuProgram.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/schema/KernelAbi.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/run/Package.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dlc {

using rt::PlannedBuffer;
using rt::PlannedCommand;
using rt::Status;
using schema::Storage;

/// What memory holds before anything is written to it.
static constexpr uint8_t kPoison = 0xa5;

namespace {

class CpuSteps : public SteppedProgram {
public:
  CpuSteps(std::shared_ptr<rt::Module> module, std::shared_ptr<cpu::CpuProgram> shared,
           const std::shared_ptr<cpu::ThreadPool> &pool)
      : SteppedProgram(std::move(module), shared->program()), program(std::move(shared)),
        runner(*this->module, program->program(), program->kernels(), pool, /*checked=*/false) {}

private:
  Status place() override {
    addresses.of.assign(plan.buffers.size(), nullptr);
    program->resolve(plan, addresses);
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (!isFixed(plan.buffers[i].storage))
        addresses.of[i] = contents[plan.buffers[i].root].data();
    single = {};
    single.buffers = plan.buffers;
    return runner.reserve(plan);
  }

  Status execute(const PlannedCommand &command, const std::vector<uint32_t> &) override {
    single.commands = {command};
    return runner.run(single, binding.values, addresses, nullptr);
  }

  std::shared_ptr<cpu::CpuProgram> program;
  cpu::CommandRunner runner;
  cpu::Addresses addresses;
  rt::Plan single; // of the command that runs
};

class CudaSteps : public SteppedProgram {
public:
  CudaSteps(std::shared_ptr<rt::Module> module, std::shared_ptr<cuda::CudaProgram> shared,
            cuda::KernelOptions kernels)
      : SteppedProgram(std::move(module), shared->program()), program(std::move(shared)),
        kernels(std::move(kernels)) {}
  ~CudaSteps() override {
    cuda::ContextScope scope(program->device());
    blocks.clear();
  }

private:
  /// A chain gives the values of all its launches at once, and some have made room for others by
  /// then.
  rt::VariantUse variants() const override {
    rt::VariantUse use = program->variants();
    use.chains = false;
    return use;
  }

  Status place() override {
    cuda::ContextScope scope(program->device());
    DLC_TRY(scope.status());
    DLC_TRY(program->require(plan, kernels));
    blocks.clear();
    blocks.resize(plan.buffers.size());
    addresses.assign(plan.buffers.size(), 0);
    program->resolve(plan, addresses);
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const PlannedBuffer &buffer = plan.buffers[i];
      if (isFixed(buffer.storage))
        continue;
      if (buffer.root == i)
        DLC_TRY(blocks[i].reserve(program->device(),
                                  std::max<int64_t>(buffer.bytes, abi::kExchangeCounterBytes),
                                  "a buffer"));
      addresses[i] = blocks[buffer.root].address();
    }
    return {};
  }

  Status execute(const PlannedCommand &command, const std::vector<uint32_t> &roots) override {
    cuda::GpuDevice &device = program->device();
    const cuda::Driver &driver = device.driver();
    cuda::ContextScope scope(device);
    DLC_TRY(scope.status());
    cuda::Stream stream = nullptr;
    DLC_TRY(
        device.check(driver.streamCreate(&stream, cuda::kStreamNonBlocking), "create a stream"));
    Status status;
    auto tryTo = [&](cuda::Result result, const char *what) {
      if (!status.failed())
        status = device.check(result, what);
    };
    for (const rt::PlannedArg &arg : command.args)
      if (arg.isBuffer && plan.buffers[arg.value].storage == Storage::exchange)
        tryTo(driver.memsetD8Async(addresses[arg.value], 0, abi::kExchangeCounterBytes, stream),
              "clear a buffer");
    for (uint32_t root : roots)
      if (int64_t bytes = plan.buffers[root].bytes)
        tryTo(driver.memcpyHtoDAsync(addresses[root], contents[root].data(), bytes, stream),
              "copy to the GPU");
    if (!status.failed())
      status = program->enqueue(plan, command, addresses, stream, /*early=*/false);
    for (uint32_t root : roots)
      if (int64_t bytes = plan.buffers[root].bytes)
        tryTo(driver.memcpyDtoHAsync(contents[root].data(), addresses[root], bytes, stream),
              "copy from the GPU");
    Status finished = device.check(driver.streamSynchronize(stream), "run a kernel");
    driver.streamDestroy(stream);
    return status.failed() ? status : finished;
  }

  std::shared_ptr<cuda::CudaProgram> program;
  const cuda::KernelOptions kernels;
  std::vector<cuda::DeviceBlock> blocks;  // by root
  std::vector<cuda::DevicePtr> addresses; // by buffer
};

} // namespace

static int failStatus(const Status &status) {
  return fail(static_cast<int>(status.code()), status.message());
}

int SteppedProgram::open(const std::string &path, const std::string &device,
                         const DeviceOptions &options, std::unique_ptr<SteppedProgram> &made) {
  int code = kOk;
  std::shared_ptr<rt::Module> module = openPackage(path, code);
  if (!module)
    return code;
  if (module->flow())
    return fail(kUnsupported, "--layers: " + rt::quoted(path) +
                                  " is cut into segments, whose number of runs the data say; "
                                  "compare its outputs without --layers");
  if (const auto *symbols = module->table().symbols())
    for (const schema::Symbol *symbol : *symbols)
      if (symbol->counted())
        return fail(kUnsupported, "--layers: the data say how large values of " + rt::quoted(path) +
                                      " are; it needs a model in which the shapes of inputs do");
  if (!device.starts_with("cuda")) {
    auto pool =
        cpu::ThreadPool::shared(options.threads > 0 ? options.threads : cpu::availableThreads());
    auto prepared = cpu::CpuProgram::get(*module, pool, /*checked=*/false);
    if (prepared.failed())
      return failStatus(prepared.status());
    made = std::make_unique<CpuSteps>(std::move(module), prepared.take(), pool);
    return kOk;
  }
  const size_t number = strlen("cuda:"); // "cuda:1 (...)"
  cuda::KernelOptions kernels;
  kernels.noJit = options.noJit;
  if (options.noCache || !options.cacheFolder.empty())
    kernels.cacheFolder = options.noCache ? "" : options.cacheFolder;
  auto prepared = cuda::CudaProgram::get(
      *module, device.size() > number ? atoi(device.c_str() + number) : 0, kernels);
  if (prepared.failed())
    return failStatus(prepared.status());
  made = std::make_unique<CudaSteps>(std::move(module), prepared.take(), std::move(kernels));
  return kOk;
}

Status SteppedProgram::begin(const std::vector<dlc_tensor> &inputs,
                             const std::vector<std::string> &names) {
  std::vector<const dlc_tensor *> own; // in this module's order
  std::vector<rt::Dims> dims;
  const auto *values = module->table().inputs();
  for (size_t i = 0; values && i < values->size(); ++i) {
    auto at = std::find(names.begin(), names.end(), values->Get(i)->name()->str()) - names.begin();
    own.push_back(&inputs[at]);
    dims.emplace_back(inputs[at].dims, inputs[at].dims + inputs[at].rank);
  }
  auto bound = rt::bindShapes(*module, dims);
  if (bound.failed())
    return bound.status();
  binding = bound.take();
  auto planned =
      rt::planProgram(*table, binding.values, rt::Phase::main, rt::Interface::arena, variants());
  if (planned.failed())
    return planned.status();
  plan = planned.take();
  contents.clear();
  contents.resize(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlannedBuffer &buffer = plan.buffers[i];
    if (isFixed(buffer.storage) || buffer.root != i)
      continue;
    DLC_TRY(contents[i].reserve(std::max<int64_t>(buffer.bytes, 1), "the activations"));
    if (buffer.storage == Storage::input)
      std::memcpy(contents[i].data(), own[buffer.index]->data, size_t(buffer.bytes));
    else if (buffer.storage != Storage::state) // which is zero, as new memory is
      std::memset(contents[i].data(), kPoison, size_t(buffer.bytes));
  }
  return place();
}

std::vector<uint32_t> SteppedProgram::rootsOf(const PlannedCommand &command) const {
  std::vector<uint32_t> roots;
  auto add = [&](uint32_t buffer) {
    const PlannedBuffer &it = plan.buffers[buffer];
    if (!isFixed(it.storage) && it.storage != Storage::exchange &&
        std::find(roots.begin(), roots.end(), it.root) == roots.end())
      roots.push_back(it.root);
  };
  for (const rt::PlannedArg &arg : command.args)
    if (arg.isBuffer)
      add(static_cast<uint32_t>(arg.value));
  if (!command.launch) {
    add(command.source);
    add(command.target);
  }
  return roots;
}

Status SteppedProgram::step(size_t number, std::vector<uint32_t> &written) {
  written.clear();
  const PlannedCommand &command = plan.commands[number];
  if (command.skip)
    return {};
  std::vector<uint32_t> roots = rootsOf(command);
  std::vector<std::vector<uint8_t>> before;
  for (uint32_t root : roots)
    before.emplace_back(contents[root].data(), contents[root].data() + plan.buffers[root].bytes);
  DLC_TRY(execute(command, roots));
  // The results follow the operands: of two arguments in the same memory the last one is what was
  // written.
  for (size_t i = 0; i < roots.size(); ++i) {
    if (std::memcmp(before[i].data(), contents[roots[i]].data(), before[i].size()) == 0)
      continue;
    uint32_t target = command.launch ? roots[i] : command.target;
    for (const rt::PlannedArg &arg : command.args)
      if (arg.isBuffer && plan.buffers[arg.value].root == roots[i])
        target = static_cast<uint32_t>(arg.value);
    written.push_back(target);
  }
  return {};
}

//===- Values ---------------------------------------------------------------------------------===//

std::vector<int64_t> SteppedProgram::dimsOf(uint32_t buffer) const {
  std::vector<int64_t> dims;
  if (const auto *list = bufferTable(buffer).dims())
    for (uint32_t dim : *list)
      dims.push_back(binding.values[dim]);
  return dims;
}

/// For each dim, how far each of its indices leads into the buffer, in elements: the sum over the
/// dims is the place of an element.
std::vector<std::vector<int64_t>> SteppedProgram::offsetsOf(uint32_t buffer) const {
  const schema::Buffer &described = bufferTable(buffer);
  const std::vector<int64_t> dims = dimsOf(buffer);
  std::vector<std::vector<int64_t>> offsets(dims.size());
  int64_t stride = described.tile_dim() >= 0 ? int64_t(described.tile()) : 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const bool isOrdered = described.order() && described.order()->size() > 0;
    const size_t dim = isOrdered ? described.order()->Get(i) : i;
    const bool isTiled = static_cast<int>(dim) == described.tile_dim();
    const int64_t tile = isTiled ? described.tile() : 1;
    for (int64_t index = 0; index < dims[dim]; ++index)
      offsets[dim].push_back(index / tile * stride + (isTiled ? index % tile : 0));
    stride *= (dims[dim] + tile - 1) / tile;
  }
  return offsets;
}

/// Calls `visit` with the position of each element in row-major order and its place in the buffer.
template <class Visit>
static void visitElements(const std::vector<std::vector<int64_t>> &offsets, Visit visit) {
  std::vector<size_t> index(offsets.size());
  for (const std::vector<int64_t> &dim : offsets)
    if (dim.empty())
      return;
  for (int64_t position = 0;; ++position) {
    int64_t place = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      place += offsets[dim][index[dim]];
    visit(position, place);
    size_t dim = index.size();
    while (dim > 0 && ++index[dim - 1] == offsets[dim - 1].size())
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

HostTensor SteppedProgram::value(uint32_t buffer) const {
  HostTensor tensor;
  tensor.dtype = rt::toC(bufferTable(buffer).dtype());
  tensor.dims = dimsOf(buffer);
  const size_t width = dlc_dtype_size(tensor.dtype);
  tensor.data.resize(static_cast<size_t>(tensor.size()) * width);
  const uint8_t *from = contents[plan.buffers[buffer].root].data();
  visitElements(offsetsOf(buffer), [&](int64_t position, int64_t place) {
    std::memcpy(tensor.data.data() + size_t(position) * width, from + size_t(place) * width, width);
  });
  return tensor;
}

bool SteppedProgram::isWritten(const HostTensor &tensor, int64_t position) {
  // A number of one byte may well be this one.
  const size_t width = dlc_dtype_size(tensor.dtype);
  const uint8_t *begin = tensor.data.data() + size_t(position) * width;
  return width == 1 || std::any_of(begin, begin + width, [](uint8_t b) { return b != kPoison; });
}

bool SteppedProgram::takesValuesOf(uint32_t buffer, dlc_dtype dtype) const {
  const dlc_dtype own = rt::toC(bufferTable(buffer).dtype());
  return own == dtype || own == DLC_F32 || own == DLC_F64;
}

void SteppedProgram::setValue(uint32_t buffer, const HostTensor &tensor) {
  const dlc_dtype own = rt::toC(bufferTable(buffer).dtype());
  const size_t width = dlc_dtype_size(own);
  uint8_t *to = contents[plan.buffers[buffer].root].data();
  visitElements(offsetsOf(buffer), [&](int64_t position, int64_t place) {
    if (!isWritten(tensor, position))
      return;
    uint8_t *element = to + size_t(place) * width;
    const double number = tensor.at(position);
    const auto single = static_cast<float>(number);
    if (own == tensor.dtype)
      std::memcpy(element, tensor.data.data() + size_t(position) * width, width);
    else if (own == DLC_F64)
      std::memcpy(element, &number, width);
    else
      std::memcpy(element, &single, width);
  });
}

//===- Names ----------------------------------------------------------------------------------===//

std::string SteppedProgram::interfaceName(uint32_t buffer) const {
  const PlannedBuffer &it = plan.buffers[buffer];
  if (it.storage == Storage::output)
    return module->table().outputs()->Get(it.index)->name()->str();
  return it.storage == Storage::state ? module->table().states()->Get(it.index)->name()->str() : "";
}

std::string SteppedProgram::keyOf(uint32_t buffer) const {
  std::string key;
  const PlannedBuffer &it = plan.buffers[buffer];
  if (std::string name = interfaceName(buffer); !name.empty()) {
    key = (it.storage == Storage::output ? "output " : "state ") + name;
  } else {
    const schema::Buffer &described = bufferTable(buffer);
    key = described.line() ? described.line()->str() : "";
    if (described.layers() && described.layers()->size())
      key += " " + described.layers()->Get(described.layers()->size() - 1)->str();
  }
  for (int64_t dim : dimsOf(buffer))
    key += "," + std::to_string(dim);
  return key;
}

const schema::Kernel *SteppedProgram::kernelOf(size_t command) const {
  const schema::Launch *launch = plan.commands[command].launch;
  return launch ? table->kernels()->Get(launch->kernel()) : nullptr;
}

} // namespace dlc
