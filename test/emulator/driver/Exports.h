//===- Exports.h - declarations of what the fake driver exports -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares each function of the runtime's own table, so that a definition of another signature does
// not compile and a missing one does not link.
//===----------------------------------------------------------------------===//
#pragma once
#include "runtime/cuda/driver/DriverAbi.h"

namespace dlc::cuda {
#pragma GCC visibility push(default)
extern "C" {
#define DLC_DRIVER(member, symbol, parameters) Result symbol parameters;
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters) Result symbol parameters;
#include "runtime/cuda/driver/Symbols.def"
#define DLC_DRIVER(member, symbol, parameters) Result symbol parameters;
#include "test/emulator/driver/Extras.def"

/// The report of the last kernel that failed: kernel, block, thread, buffer and offset. Empty if
/// none has. Valid until the next one fails.
const char *dlcEmuLastReport();

/// From now on calls are counted from 0, and the one with this number returns `result`; after an
/// error that is sticky on a GPU all later ones do. Negative: none fails. Not counted: calls that
/// give something back, and those that explain errors.
void dlcEmuFailAt(long call, int result);
/// How many calls were counted since.
long dlcEmuCallCount();
/// The function that was made to fail, "cuMemcpyDtoDAsync_v2 while capturing"; empty where the call
/// was not reached.
const char *dlcEmuFailedFunction();
/// For libraries that put work of their own into streams, as NVIDIA's do. Counts a call, and
/// returns the fault planted in it, as dlcEmuFailAt has it; 0: none.
int dlcEmuCount(const char *function);
/// Whether [pointer, pointer + bytes) lies in one allocation.
bool dlcEmuOwns(DevicePtr pointer, size_t bytes);
/// Appends `run(data)` to the stream, or records it where that captures. `release(data)` is called
/// once, when neither stream nor graph needs the data any more. An error: the work was not taken,
/// and the data released.
Result dlcEmuSubmit(Stream stream, void (*run)(void *), void (*release)(void *), void *data);

/// What had not been given back when the last context ended: "2 events, 1 modules". Empty: nothing.
const char *dlcEmuLeaks();
}
#pragma GCC visibility pop
} // namespace dlc::cuda
