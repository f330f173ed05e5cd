//===- SharedMemory.cpp - a block's shared memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Static variables lie at the arena's start in the order in which the kernel first names them, each
// followed by a red zone; dynamic memory lies at its end.
//===----------------------------------------------------------------------===//
#include "test/emulator/core/Worker.h"

namespace dlc::emu {

namespace {
constexpr uint32_t kRedZone = 64;
} // namespace

bool Block::ownsShared(const void *p, uint32_t bytes) const {
  uint32_t offset = sharedOffset(p);
  if (offset >= dynamicOffset)
    return offset + bytes <= dynamicOffset + dynamicBytes;
  for (const SharedVariable &variable : variables)
    if (offset >= variable.offset && offset + bytes <= variable.offset + variable.bytes)
      return true;
  return false;
}

Text Block::describeShared(const void *p) const {
  uint32_t offset = sharedOffset(p);
  if (dynamicBytes && offset + kRedZone >= dynamicOffset)
    return formatText("dynamic shared memory%+d (of %u B)", int(offset) - int(dynamicOffset),
                      dynamicBytes);
  // The variable that begins last before the address: a stray index most often runs past its end.
  const SharedVariable *nearest = nullptr;
  for (const SharedVariable &variable : variables)
    if (!nearest || variable.offset <= offset)
      nearest = &variable;
  if (!nearest)
    return formatText("shared address %u", offset);
  return formatText("shared '%s'%+d (of %u B)", nearest->name, int(offset) - int(nearest->offset),
                    nearest->bytes);
}

void requireShared(const void *p, uint32_t bytes, const char *what, uint32_t align) {
  Block &block = self().home();
  if (!block.isShared(p))
    failThread(Fault::IllegalAddress, "%s: %p is not in shared memory", what, p);
  if (!block.ownsShared(p, bytes))
    failThread(Fault::IllegalAddress, "%s of %u B out of bounds at %s", what, bytes,
               block.describeShared(p).c_str());
  if (reinterpret_cast<uintptr_t>(p) % align)
    failThread(Fault::Misaligned, "%s at %s is not aligned to %u bytes", what,
               block.describeShared(p).c_str(), align);
}

} // namespace dlc::emu

using namespace dlc::emu;

extern "C" {

void *dlcEmuShared(const void *key, unsigned bytes, unsigned align, const char *name) {
  Block &block = self().home();
  for (const SharedVariable &variable : block.variables)
    if (variable.key == key)
      return block.shared + variable.offset;
  uint32_t alignment = align < 16 ? 16 : align;
  uint32_t offset = (block.staticBytes + alignment - 1) & ~(alignment - 1);
  // Red zones are ours, so they do not count against the kernel's limit.
  uint32_t zones = static_cast<uint32_t>(block.variables.size()) * kRedZone;
  if (offset + bytes - zones > kStaticSharedLimit ||
      offset + bytes + kRedZone > block.dynamicOffset)
    failThread(Fault::LaunchFailed, "static shared memory: '%s' (%u B) passes the limit of %u B",
               name, bytes, kStaticSharedLimit);
  uint32_t limit = block.worker->launch().settings.sharedBytes;
  if (offset + bytes - zones + block.dynamicBytes > limit)
    failThread(Fault::LaunchFailed,
               "shared memory: '%s' (%u B) and %u B of dynamic memory pass the device's limit of "
               "%u B",
               name, bytes, block.dynamicBytes, limit);
  block.variables.push_back({key, name, offset, bytes});
  block.staticBytes = offset + bytes + kRedZone;
  return block.shared + offset;
}

unsigned dlcEmuSharedAddress(const void *p) {
  Block &block = self().home();
  if (!block.isShared(p))
    failThread(Fault::IllegalAddress, "smem_u32: %p is not in shared memory", p);
  return block.sharedOffset(p);
}

} // extern "C"
