//===- CpuProgram.cpp - A module's program made ready for this processor ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/CpuProgram.h"
#include "runtime/core/Text.h"
#include "runtime/cpu/FaultGuard.h"
#include "runtime/cpu/Isa.h"
#include "runtime/schema/ModuleHeader.h"

#include <algorithm>
#include <cstring>

using namespace dlc;
using namespace dlc::cpu;
using rt::Status;
using schema::Storage;

/// Bytes of the largest weight that is copied: below them a page of the file costs more.
static constexpr int64_t kMostCopied = 64 * 1024;

rt::Expected<std::shared_ptr<CpuProgram>>
CpuProgram::get(rt::Module &module, std::shared_ptr<ThreadPool> pool, bool checked) {
  const schema::Program *table = module.program(schema::Target::cpu);
  if (!table)
    return Status(DLC_UNSUPPORTED,
                  "the module has no program for the CPU: compile it with '--target cpu'");
  rt::Expected<uint32_t> choice = chooseImage(*table);
  bool hasKernels = table->kernels() && table->kernels()->size();
  if (choice.failed() && hasKernels)
    return choice.status();
  std::string isa = hasKernels ? table->cpu_images()->Get(*choice)->isa()->str() : "no kernels";
  auto prepare = [&]() -> rt::Expected<std::shared_ptr<rt::PreparedProgram>> {
    const schema::CpuImage *image = hasKernels ? table->cpu_images()->Get(*choice) : nullptr;
    rt::Expected<CodeImage> code = image ? CodeImage::load(*image, module.bytes(*image->code()))
                                         : rt::Expected<CodeImage>(CodeImage::empty());
    if (code.failed())
      return code.status();
    std::shared_ptr<CpuProgram> made(new CpuProgram(module, *table, code.take(), checked));
    made->isaName = isa;
    for (size_t i = 0; hasKernels && i < table->kernels()->size(); ++i)
      made->entries.push_back(
          made->image.kernel(table->kernels()->Get(i)->cpu()->Get(*choice)->entry()));
    DLC_TRY(made->prepare(std::move(pool)));
    return std::shared_ptr<rt::PreparedProgram>(std::move(made));
  };
  auto prepared = module.prepared(rt::text("cpu ", isa, checked ? " checked" : ""), prepare);
  if (prepared.failed())
    return prepared.status();
  return std::static_pointer_cast<CpuProgram>(*prepared);
}

Status CpuProgram::prepare(std::shared_ptr<ThreadPool> pool) {
  if (checked)
    installFaultHandler();
  // The init program depends on no symbol, so any values serve.
  std::vector<int64_t> symbols, values;
  if (module.table().symbols())
    for (const schema::Symbol *symbol : *module.table().symbols())
      symbols.push_back(symbol->min());
  module.expressions().evaluate(symbols, module.expressions().size(), values);
  rt::Expected<rt::Plan> plan =
      planProgram(table, values, rt::Phase::init, rt::Interface::callerMemory);
  if (plan.failed())
    return plan.status().within("init program: ");

  for (const rt::PlannedBuffer &buffer : plan->buffers)
    if (buffer.storage == Storage::weight && buffer.root == &buffer - plan->buffers.data() &&
        !buffer.isTemporary)
      bytesOfWeights += buffer.bytes;
  DLC_TRY(checked ? guardBuffers(*plan)
                  : persistent.reserve(plan->persistentBytes, "the prepared weights"));
  if (!plan->commands.empty())
    DLC_TRY(runInit(*plan, values, std::move(pool)));
  return checked ? Status() : copySmallWeights(*plan);
}

/// A read of a few bytes of a mapped file may bring the 2 MiB around them into memory, where the
/// kernel keeps the file in such pieces. Biases lie between weights that are packed by now, which
/// would all come back.
Status CpuProgram::copySmallWeights(const rt::Plan &plan) {
  const bool hasPacked =
      std::any_of(plan.buffers.begin(), plan.buffers.end(), [](const rt::PlannedBuffer &buffer) {
        return buffer.storage == Storage::weight && buffer.isTemporary;
      });
  if (!hasPacked)
    return {};
  smallOffsets.assign(plan.buffers.size(), -1);
  constexpr int64_t kAlignment{schema::kSegmentAlignment};
  int64_t bytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (const rt::PlannedBuffer &buffer = plan.buffers[i];
        buffer.root == i && buffer.storage == Storage::weight && !buffer.isTemporary &&
        buffer.bytes <= kMostCopied) {
      smallOffsets[i] = bytes;
      bytes += (buffer.bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
  DLC_TRY(small.reserve(bytes, "the prepared weights"));
  for (size_t i = 0; i < smallOffsets.size(); ++i)
    if (smallOffsets[i] >= 0)
      std::memcpy(small.data() + smallOffsets[i], module.bytes(dataOf(plan.buffers[i])),
                  plan.buffers[i].bytes);
  module.releasePages();
  return {};
}

Status CpuProgram::runInit(const rt::Plan &plan, const std::vector<int64_t> &values,
                           std::shared_ptr<ThreadPool> pool) {
  if (!checked)
    DLC_TRY(temporaries.reserve(plan.temporaryBytes, "the weights while they are prepared"));
  Addresses addresses;
  addresses.of.resize(plan.buffers.size());
  addresses.guards.resize(checked ? plan.buffers.size() : 0);
  resolve(plan, addresses);
  CommandRunner runner(module, table, entries, std::move(pool), checked);
  DLC_TRY(runner.reserve(plan));
  // A weight that is packed leaves memory before the next one is read.
  std::vector<std::vector<const schema::Segment *>> read(plan.commands.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (const rt::PlannedBuffer &buffer = plan.buffers[i];
        buffer.root == i && buffer.storage == Storage::weight && buffer.isTemporary)
      read[buffer.lastUse].push_back(&dataOf(buffer));
  auto release = [&](size_t command) {
    for (const schema::Segment *segment : read[command])
      module.releasePages(*segment);
  };
  DLC_TRY(runner.run(plan, values, addresses, nullptr, {}, release).within("init program: "));
  temporaries = HostBlock();
  // Once more: reading one weight may have brought pages of its neighbours back.
  for (size_t command = 0; command < read.size(); ++command)
    release(command);
  for (size_t i = 0; i < guarded.size(); ++i) {
    if (plan.buffers[i].root != i)
      continue;
    if (plan.buffers[i].isTemporary)
      guarded[i] = GuardedBuffer();
    else if (plan.buffers[i].storage == Storage::persistent)
      guarded[i].setWritable(false);
  }
  return {};
}

Status CpuProgram::guardBuffers(const rt::Plan &plan) {
  guarded.resize(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const rt::PlannedBuffer &buffer = plan.buffers[i];
    if (buffer.root != i ||
        (buffer.storage != Storage::weight && buffer.storage != Storage::persistent))
      continue;
    rt::Expected<GuardedBuffer> made = GuardedBuffer::create(buffer.bytes);
    if (made.failed())
      return made.status();
    guarded[i] = made.take();
    if (buffer.storage == Storage::persistent) {
      guarded[i].poison();
      continue;
    }
    std::memcpy(guarded[i].data(), module.bytes(dataOf(buffer)), buffer.bytes);
    guarded[i].setWritable(false);
  }
  return {};
}

void CpuProgram::resolve(const rt::Plan &plan, Addresses &addresses) const {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const rt::PlannedBuffer &buffer = plan.buffers[i];
    if (buffer.storage != Storage::weight && buffer.storage != Storage::persistent)
      continue;
    if (checked) {
      addresses.of[i] = guarded[buffer.root].data();
      addresses.guards[i] = &guarded[buffer.root];
    } else if (buffer.storage == Storage::persistent) {
      addresses.of[i] = (buffer.isTemporary ? temporaries : persistent).data() + buffer.offset;
    } else if (!smallOffsets.empty() && smallOffsets[buffer.root] >= 0) {
      addresses.of[i] = small.data() + smallOffsets[buffer.root];
    } else {
      // Mapped from the file and read-only; kernels take one pointer type for all buffers.
      addresses.of[i] = const_cast<uint8_t *>(module.bytes(dataOf(buffer)));
    }
  }
}
