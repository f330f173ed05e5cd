//===- FuzzModel.cpp - Any bytes as a model.bin -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes find damage, and would hide everything behind them from a fuzzer: so they are set right
// first. What is then accepted is bound to shapes and planned, but never run: its code may be
// anything.
//===------------------------------------------------------------------------------------------===//
#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/flow/FlowPlan.h"
#include "runtime/core/package/Hash.h"
#include "runtime/core/package/ModuleVerifier.h"
#include "runtime/core/package/Plan.h"
#include "runtime/schema/ModuleHeader.h"
#include "test/fuzz/Demand.h"

#include <cstring>
#include <vector>

using namespace dlc;

/// Sets the file's size and all hashes, as far as the table can be followed.
static void rehash(uint8_t *file, size_t size) {
  schema::ModuleHeader header;
  if (size < schema::kTableOffset)
    return;
  std::memcpy(&header, file, sizeof(header));
  header.fileBytes = size;
  uint8_t *table = file + schema::kTableOffset;
  if (header.tableBytes <= size - schema::kTableOffset) {
    flatbuffers::Verifier structure(table, header.tableBytes, rt::kMaxDepth, rt::kMaxTables);
    if (schema::VerifyModuleBuffer(structure))
      for (const auto &[segment, what] : rt::segmentsOf(*schema::GetModule(table))) {
        if (segment->offset() > size || segment->bytes() > size - segment->offset())
          continue;
        rt::Hash128 hash = rt::hashBytes(file + segment->offset(), segment->bytes());
        schema::Segment right(segment->offset(), segment->bytes(), hash.low, hash.high);
        std::memcpy(const_cast<schema::Segment *>(segment), &right, sizeof(right));
      }
    rt::Hash128 hash = rt::hashBytes(table, header.tableBytes);
    header.tableHash[0] = hash.low;
    header.tableHash[1] = hash.high;
  }
  rt::Hash128 hash = rt::hashBytes(&header, offsetof(schema::ModuleHeader, headerHash));
  header.headerHash[0] = hash.low;
  header.headerHash[1] = hash.high;
  std::memcpy(file, &header, sizeof(header));
}

/// Dims of the inputs when every symbol has the least, or the largest, of its values.
static std::vector<rt::Dims> dimsOf(const rt::Module &module, bool largest) {
  std::vector<rt::Dims> all;
  if (!module.table().inputs())
    return all;
  for (const schema::Value *input : *module.table().inputs()) {
    rt::Dims &dims = all.emplace_back();
    for (size_t i = 0; input->dims() && i < input->dims()->size(); ++i) {
      auto range = module.expressions().range(input->dims()->Get(i));
      dims.push_back(largest ? range.max : range.min);
    }
  }
  return all;
}

/// Binds the shapes of the smallest and of the largest inputs, and plans the programs under them.
static void plan(const rt::Module &module) {
  for (bool largest : {false, true}) {
    std::vector<int64_t> given;
    for (uint32_t i = 0; module.table().given() && i < module.table().given()->size(); ++i) {
      const auto *symbol = module.table().symbols()->Get(module.table().given()->Get(i));
      given.push_back(largest ? symbol->max() : symbol->min());
    }
    auto binding = rt::bindShapes(module, dimsOf(module, largest), given);
    if (binding.failed() || !module.table().programs())
      continue;
    for (const schema::Program *program : *module.table().programs())
      for (rt::Phase phase : {rt::Phase::init, rt::Phase::main})
        for (rt::Interface interface : {rt::Interface::callerMemory, rt::Interface::arena})
          (void)rt::planProgram(*program, binding->values, phase, interface).failed();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Aligned as a mapped file is.
  std::vector<uint64_t> storage((size + 7) / 8);
  auto *file = reinterpret_cast<uint8_t *>(storage.data());
  if (size)
    std::memcpy(file, data, size);
  rehash(file, size);
  auto loaded = rt::Module::loadMemory(file, size, /*verifyAll=*/true);
  if (loaded.failed()) {
    fuzz::demand(loaded.status().message().size() > 10, "an error that says what is wrong");
    return 0;
  }
  plan(**loaded);
  if (const schema::Flow *flow = (*loaded)->flow()) {
    auto count = [](const auto *list) { return list ? list->size() : 0; };
    const schema::Module &table = (*loaded)->table();
    (void)rt::planFlow(*flow, count(table.inputs()) + count(table.states()));
    for (const auto &segment : (*loaded)->segments())
      plan(*segment);
  }
  return 0;
}
