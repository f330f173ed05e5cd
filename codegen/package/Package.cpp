//===- Package.cpp - Writes a model.bin ---------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table names absolute offsets of segments, and the segments lie behind the table: so it is
// packed twice, first to learn its size. Every field is written, defaults too, which makes that
// size independent of the offsets.
//===------------------------------------------------------------------------------------------===//
#include "codegen/package/Package.h"

#include "codegen/package/FlowTable.h"
#include "codegen/package/ModuleTable.h"
#include "runtime/schema/ModuleHeader.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

using namespace mlir;

namespace dlc::codegen {

/// Writes `table`, which names the segments of `store`.
static LogicalResult write(schema::ModuleT &table, std::vector<PlacedBytes> &segments,
                           llvm::raw_ostream &os) {
  table.producer = "dlc " DLC_VERSION;
  for (const auto &segment : table.segments)
    segment->producer = table.producer;
  auto pack = [&](flatbuffers::FlatBufferBuilder &builder) {
    builder.ForceDefaults(true);
    schema::FinishModuleBuffer(builder, schema::Module::Pack(builder, &table));
  };
  flatbuffers::FlatBufferBuilder measured;
  pack(measured);
  uint64_t end = schema::kTableOffset + measured.GetSize();
  for (PlacedBytes &segment : segments) {
    uint64_t offset = llvm::alignTo(end, schema::kSegmentAlignment);
    for (std::unique_ptr<schema::Segment> *slot : segment.slots) {
      schema::Segment &place = **slot;
      place = schema::Segment(offset, place.bytes(), place.hash_low(), place.hash_high());
    }
    end = offset + segment.bytes.size();
  }
  flatbuffers::FlatBufferBuilder builder;
  pack(builder);
  if (builder.GetSize() != measured.GetSize())
    llvm::report_fatal_error("the package's table changed its size between two builds");

  schema::ModuleHeader header = {};
  std::memcpy(header.magic, schema::kMagic, sizeof(header.magic));
  header.formatVersion = schema::kFormatVersion;
  header.abiVersion = schema::kAbiVersion;
  header.fileBytes = end;
  header.tableBytes = builder.GetSize();
  auto tableHash = llvm::xxh3_128bits({builder.GetBufferPointer(), builder.GetSize()});
  header.tableHash[0] = tableHash.low64;
  header.tableHash[1] = tableHash.high64;
  auto headerHash = llvm::xxh3_128bits(
      {reinterpret_cast<const uint8_t *>(&header), offsetof(schema::ModuleHeader, headerHash)});
  header.headerHash[0] = headerHash.low64;
  header.headerHash[1] = headerHash.high64;

  os.reserveExtraSpace(end); // a buffer that doubled as it grew would hold the weights three times
  os.write(reinterpret_cast<const char *>(&header), sizeof(header));
  os.write(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  uint64_t position = schema::kTableOffset + builder.GetSize();
  for (const PlacedBytes &segment : segments) {
    uint64_t offset = (*segment.slots.front())->offset();
    os.write_zeros(offset - position);
    os.write(reinterpret_cast<const char *>(segment.bytes.data()), segment.bytes.size());
    position = offset + segment.bytes.size();
  }
  return success();
}

LogicalResult writePackage(ModuleOp module, const GeneratedCode &code, ReadPacked readPacked,
                           llvm::raw_ostream &os) {
  SegmentStore store;
  schema::ModuleT table;
  return failure(failed(ModuleTable(module, code, readPacked, store).build(table)) ||
                 failed(write(table, store.all(), os)));
}

LogicalResult writePackage(ModuleOp flow, ArrayRef<CompiledSegment> segments, ReadPacked readPacked,
                           llvm::raw_ostream &os) {
  SegmentStore store;
  schema::ModuleT table;
  for (const CompiledSegment &segment : segments) {
    auto part = std::make_unique<schema::ModuleT>();
    if (failed(ModuleTable(segment.module, *segment.code, readPacked, store).build(*part)))
      return failure();
    for (auto [position, symbol] : llvm::enumerate(part->symbols)) {
      symbol->read = false; // the flow gives it at each call
      if (!symbol->is_derived)
        part->given.push_back(static_cast<uint32_t>(position));
    }
    table.segments.push_back(std::move(part));
  }
  return failure(failed(buildFlow(flow, segments, table)) || failed(write(table, store.all(), os)));
}

} // namespace dlc::codegen
