//===- RunArguments.cpp - A run's inputs and outputs, in host or GPU memory -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/graphs/RunArguments.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <bit>
#include <cstring>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using rt::text;
using schema::Storage;

/// Of what kernels may read and write: their widest vectors.
static constexpr DevicePtr kAlignment = 16;
/// More than this the driver stages itself, piece by piece while the pieces before are on their
/// way.
static constexpr int64_t kMostPinned = int64_t(1) << 20;
static constexpr int64_t kPinnedAlignment = 64;

static DevicePtr pointerOf(const rt::Argument &argument) {
  return reinterpret_cast<DevicePtr>(argument.data);
}

Status RunArguments::refuse(const Place &place, const std::string &why) const {
  uint32_t index = plan->buffers[place.buffer].index;
  const auto *values = place.isOutput ? module.table().outputs() : module.table().inputs();
  return {DLC_USAGE, text(place.isOutput ? "output " : "input ",
                          rt::quoted(values->Get(index)->name()->string_view()), ": ", why)};
}

/// The pointer must be to memory of this GPU and context that is large enough. Asking costs a few
/// microseconds, so a pointer that was asked about in the run before is not asked about again.
Status RunArguments::check(const Place &place) {
  DevicePtr pointer = pointerOf(place.argument);
  std::pair<DevicePtr, int64_t> key = {pointer, place.bytes};
  if (auto known = checked.find(place.buffer); known != checked.end() && known->second == key)
    return {};
  checked.erase(place.buffer);
  const Driver &driver = device.driver();
  int type = 0, ordinal = 0;
  Result result = driver.pointerGetAttribute(&type, PointerAttribute::MemoryType, pointer);
  // The driver does not know ordinary host memory at all.
  if (result == Result::InvalidValue ||
      (result == Result::Success && type != static_cast<int>(MemoryType::Device)))
    return refuse(place, "its pointer is not to GPU memory; for memory of the host leave "
                         "dlc_tensor.memory at DLC_MEMORY_HOST");
  DLC_TRY(device.check(result, "ask about a pointer"));
  // The driver cannot report every attribute of pools and mapped memory; skip what it cannot.
  bool isKnown = true;
  auto ask = [&](void *value, PointerAttribute attribute) {
    Result answer = driver.pointerGetAttribute(value, attribute, pointer);
    isKnown = answer == Result::Success;
    return answer == Result::InvalidValue ? Status() : device.check(answer, "ask about a pointer");
  };
  DLC_TRY(ask(&ordinal, PointerAttribute::DeviceOrdinal));
  if (isKnown && ordinal != device.ordinal())
    return refuse(place, text("its data is in the memory of GPU ", ordinal,
                              ", and the context runs on GPU ", device.ordinal()));
  Context owner = nullptr;
  DLC_TRY(ask(&owner, PointerAttribute::Context));
  if (isKnown && owner && owner != device.context())
    return refuse(place, text("its data belongs to another CUDA context than the primary one of "
                              "GPU ",
                              device.ordinal()));
  DevicePtr start = 0;
  size_t size = 0;
  DLC_TRY(ask(&start, PointerAttribute::RangeStart));
  if (isKnown)
    DLC_TRY(ask(&size, PointerAttribute::RangeSize));
  if (uint64_t left = start + size - pointer; isKnown && left < static_cast<uint64_t>(place.bytes))
    return refuse(place, text("it needs ", place.bytes, " bytes, and its allocation has ", left,
                              " from its pointer on"));
  checked[place.buffer] = key;
  return {};
}

/// In place: aligned, and nothing that is written there is anything else of this run.
bool RunArguments::isUsable(const Place &place) const {
  DevicePtr begin = pointerOf(place.argument), end = begin + static_cast<DevicePtr>(place.bytes);
  if (!place.argument.onDevice || begin % kAlignment)
    return false;
  return !place.isOutput || std::none_of(places.begin(), places.end(), [&](const Place &other) {
    DevicePtr otherBegin = pointerOf(other.argument);
    return other.buffer != place.buffer && other.argument.onDevice && otherBegin < end &&
           begin < otherBegin + static_cast<DevicePtr>(other.bytes);
  });
}

Status RunArguments::place(const rt::Plan &bound, DevicePtr arena,
                           const std::vector<rt::Argument> &inputs,
                           const std::vector<rt::Argument> &outputs,
                           std::vector<DevicePtr> &addresses, bool &moved) {
  plan = &bound;
  places.clear();
  moved = false;
  for (uint32_t i = 0; i < plan->buffers.size(); ++i) {
    const rt::PlannedBuffer &buffer = plan->buffers[i];
    bool isOutput = buffer.storage == Storage::output;
    if (buffer.root == i && (isOutput || buffer.storage == Storage::input) && buffer.bytes)
      places.push_back({i, isOutput, isOutput ? outputs[buffer.index] : inputs[buffer.index],
                        buffer.bytes, false});
  }
  for (Place &place : places) {
    if (place.argument.onDevice)
      DLC_TRY(check(place));
    place.inPlace = isUsable(place);
    DevicePtr address = place.inPlace
                            ? pointerOf(place.argument)
                            : arena + static_cast<DevicePtr>(plan->buffers[place.buffer].offset);
    if (addresses[place.buffer] == address)
      continue;
    moved = true;
    for (uint32_t i = 0; i < plan->buffers.size(); ++i)
      if (plan->buffers[i].root == place.buffer)
        addresses[i] = address;
  }
  return {};
}

Status RunArguments::checkPinned() {
  for (const Place &place : places) {
    DevicePtr pointer = pointerOf(place.argument);
    if (auto known = knownPinned.find(place.buffer);
        place.argument.onDevice || (known != knownPinned.end() && known->second == pointer))
      continue;
    int type = 0;
    Result result =
        device.driver().pointerGetAttribute(&type, PointerAttribute::MemoryType, pointer);
    if (result == Result::InvalidValue ||
        (result == Result::Success && type != static_cast<int>(MemoryType::Host)))
      return refuse(
          place,
          "an enqueued run takes GPU memory (dlc_tensor.memory is DLC_MEMORY_DEVICE) or pinned "
          "memory of the host "
          "(cuMemHostAlloc, cudaMallocHost), which nobody waits for; dlc_context_run takes any");
    DLC_TRY(device.check(result, "ask about a pointer"));
    knownPinned[place.buffer] = pointer;
  }
  return {};
}

/// Gives the arrays in host memory places in pinned memory, where they are small and there is some.
Status RunArguments::stage() {
  int64_t bytes = 0;
  for (const Place &place : places)
    if (!place.argument.onDevice && bytes <= kMostPinned)
      bytes += (place.bytes + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment;
  if (bytes == 0 || bytes > kMostPinned || isUnpinnable)
    return {};
  if (bytes > pinnedBytes) {
    release();
    bytes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes))); // it may grow on
    void *memory = nullptr;
    Status made = device.check(
        device.driver().memHostAlloc(&memory, static_cast<size_t>(bytes), kMemHostAllocPortable),
        "pin memory");
    isUnpinnable = made.failed();
    if (made.failed())
      return device.usable(); // copies do without
    pinned = static_cast<char *>(memory);
    pinnedBytes = bytes;
  }
  int64_t offset = 0;
  for (Place &place : places)
    if (!place.argument.onDevice) {
      place.staged = offset;
      offset += (place.bytes + kPinnedAlignment - 1) / kPinnedAlignment * kPinnedAlignment;
    }
  return {};
}

Status RunArguments::copyIn(const std::vector<DevicePtr> &addresses, Stream stream, bool replayed) {
  if (replayed)
    DLC_TRY(stage());
  const Driver &driver = device.driver();
  for (const Place &place : places) {
    if (place.isOutput || place.inPlace)
      continue;
    const void *from = place.argument.data;
    if (place.staged >= 0)
      from = std::memcpy(pinned + place.staged, from, static_cast<size_t>(place.bytes));
    auto bytes = static_cast<size_t>(place.bytes);
    DevicePtr to = addresses[place.buffer];
    DLC_TRY(device.check(place.argument.onDevice
                             ? driver.memcpyDtoDAsync(to, pointerOf(place.argument), bytes, stream)
                             : driver.memcpyHtoDAsync(to, from, bytes, stream),
                         place.argument.onDevice ? "copy an input on the GPU"
                                                 : "copy an input to the GPU"));
  }
  return {};
}

Status RunArguments::copyOut(const std::vector<DevicePtr> &addresses, Stream stream) {
  const Driver &driver = device.driver();
  for (const Place &place : places) {
    if (!place.isOutput || place.inPlace)
      continue;
    void *to = place.staged >= 0 ? pinned + place.staged : place.argument.data;
    auto bytes = static_cast<size_t>(place.bytes);
    DevicePtr from = addresses[place.buffer];
    DLC_TRY(device.check(
        place.argument.onDevice
            ? driver.memcpyDtoDAsync(pointerOf(place.argument), from, bytes, stream)
            : driver.memcpyDtoHAsync(to, from, bytes, stream),
        place.argument.onDevice ? "copy an output on the GPU" : "copy an output from the GPU"));
  }
  return {};
}

void RunArguments::deliver() {
  for (const Place &place : places)
    if (place.isOutput && place.staged >= 0)
      std::memcpy(place.argument.data, pinned + place.staged, static_cast<size_t>(place.bytes));
}

void RunArguments::release() {
  if (pinned)
    device.driver().memFreeHost(pinned);
  pinned = nullptr;
  pinnedBytes = 0;
}
