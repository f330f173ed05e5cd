//===- Driver.h - the state of the fake CUDA driver -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One device, one context that counts, streams that run only when somebody waits for them. Work in
// different streams is independent unless events or the default stream order it, and the driver
// makes use of that: what nobody waits for runs as late as possible (policy random: at a random
// time), so that a missing synchronisation shows. A checked launch reports it as well: all work
// carries along what it comes after (check/LaunchOrder.h).
//===----------------------------------------------------------------------===//
#pragma once
#include "runtime/cuda/driver/DriverAbi.h"
#include "test/emulator/check/LaunchOrder.h"
#include "test/emulator/core/Launch.h"
#include "test/emulator/driver/FaultPlan.h"
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dlc::cuda {

struct CUevent_st {
  /// Counts records; the one that has been reached; and when.
  uint64_t recorded = 0, reached = 0;
  /// What lies before the last record.
  emu::StreamClock known;
  std::chrono::steady_clock::time_point time;
};

struct CUmod_st {
  void *library = nullptr;
  int file = -1;
  uintptr_t imageBegin = 0, imageEnd = 0;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
  ~CUmod_st();
};

struct CUfunc_st {
  std::string name;
  CUmod_st *module = nullptr;
  void (*call)(void **params) = nullptr;
  unsigned maxThreads = 0;
  unsigned cluster = 1; ///< blocks of a cluster, neighbours along the grid's x
  std::vector<unsigned> paramBytes;
  unsigned maxDynamicShared = 48 * 1024;
  bool mayHaveLargeClusters = false; ///< of more than eight blocks
  /// What the kernel was seen to use; 0 before its first launch.
  unsigned staticShared = 0;
};

/// A launch with its parameters copied, as the driver copies them when it is asked for.
struct KernelCall {
  CUfunc_st *function = nullptr;
  DlcEmuDim grid{1, 1, 1}, block{1, 1, 1};
  unsigned sharedBytes = 0;
  bool cooperative = false, early = false;
  std::unique_ptr<unsigned char, void (*)(void *)> storage{nullptr, nullptr};
  size_t storageBytes = 0;
  std::vector<void *> params;

  Result run() const;
};

enum class WorkKind { Kernel, Copy, Fill, Marker };

struct ByteRange {
  const void *begin = nullptr;
  size_t bytes = 0;

  bool overlaps(const ByteRange &other) const {
    auto a = reinterpret_cast<uintptr_t>(begin), b = reinterpret_cast<uintptr_t>(other.begin);
    return a < b + other.bytes && b < a + bytes;
  }
};

struct Work {
  WorkKind kind = WorkKind::Marker;
  std::function<Result()> run;
  std::shared_ptr<KernelCall> kernel;
  /// Not before this event has reached this record.
  CUevent_st *waitFor = nullptr;
  uint64_t waitRecord = 0;
  /// Order of submission over all streams.
  uint64_t sequence = 0;
  /// What a copy or fill reads and writes of device and pinned memory.
  ByteRange reads, writes;
  /// Of pinned memory that it reads, as it was when asked for; 0 where that may change.
  uint64_t sourceHash = 0;
  std::shared_ptr<emu::WorkClock> clock;
};

struct CUgraphNode_st {
  Work work;
  /// The kernel's parameters in the form in which they are handed out.
  std::vector<void *> params;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

/// A stream that records. After a call that capture does not allow it only waits to be ended.
struct Capture {
  std::unique_ptr<CUgraph_st> graph = std::make_unique<CUgraph_st>();
  StreamCaptureMode mode;
  std::thread::id thread;
  bool isInvalid = false;
  /// The newest node, for who asks what the next one will come after.
  CUgraphNode_st *newest = nullptr;
};

struct CUgraphExec_st {
  /// Beside each piece of work, the node that it was made from.
  std::vector<std::pair<const CUgraphNode_st *, Work>> work;
};

struct CUstream_st {
  std::deque<Work> queue;
  /// Never used again in the context; 0 is the default stream.
  uint32_t number = 0;
  /// The first of the last kernels of which none need have ended when an early launch begins; 0
  /// where the last work is no kernel, or the host has waited for it.
  uint64_t runningFrom = 0;
  /// What the next work comes after, in this stream and others.
  emu::StreamClock known;
  /// Ordered with the default stream.
  bool blocking = true;
  std::unique_ptr<Capture> capture;
};

struct CUctx_st {};

/// What a program has made and not given back.
struct Live {
  long allocations = 0, pinned = 0, streams = 0, events = 0, modules = 0, graphs = 0,
       graphExecs = 0;

  /// "2 events, 1 module"; empty where there is nothing.
  std::string describe() const;
};

class Driver {
public:
  static Driver &get();

  std::recursive_mutex mutex;
  bool initialised = false;
  CUctx_st context;
  unsigned contextUsers = 0;
  /// The first error of a kernel: all later calls return it until the context is destroyed.
  Result sticky = Result::Success;
  std::string lastReport;
  /// Memory of cuMemHostAlloc and its size.
  std::map<const void *, size_t> pinned;
  /// Counts of what the driver itself keeps no list of.
  Live made;
  /// What was alive when a context ended.
  std::string leaks;
  FaultPlan faults;

  /// What each call that needs a context begins with.
  Result enter(const char *function);
  /// The same for what gives something back: no fault is planted in it.
  Result enterCleanup();

  /// What there is now.
  Live live();

  /// For calls that wait or have effects outside of streams: an error where a capture forbids them,
  /// which ends it.
  Result notWhileCapturing();

  CUstream_st *makeStream(bool blocking);
  /// Null for a handle that is no stream; the default stream for null.
  CUstream_st *find(Stream stream);
  void destroyStream(CUstream_st *stream);

  /// Appends work, or records it if the stream captures.
  Result submit(Stream stream, Work work);
  /// Runs work until the stream is empty. Refused while it captures.
  Result drain(Stream stream);
  Result drainAll();
  /// Runs work until the event's last record is reached.
  Result drainEvent(const CUevent_st *event);
  /// The host has waited for the stream, or (null) for all: what it asks for from now on comes
  /// after that.
  void hostKnows(const CUstream_st *stream);
  void hostKnows(const emu::StreamClock &clock) { emu::join(host, clock); }

  /// Counts a call, and returns the fault planted in it. A sticky one stays.
  Result countCall(const char *function);

  /// Keeps a kernel's fault, prints its report, and gives the driver's error for it.
  Result fault(const emu::LaunchResult &result);

  /// Frees everything, as the end of the last context does.
  void destroyContext();

  bool isPinned(const void *p, size_t bytes);

private:
  Driver();
  bool mayRun(const CUstream_st *stream);
  /// Runs one piece of work, from `preferred` if it can; false if none can run.
  bool step(CUstream_st *preferred);
  void setClock(CUstream_st *stream, Work &work);
  /// Runs it, checked: Result::LaunchFailed where it conflicts with work of another stream.
  Result run(const Work &work);
  Result checkCopy(const Work &work);
  uint64_t hashPinned(const ByteRange &range);

  std::vector<std::unique_ptr<CUstream_st>> streams; // the first is the default stream
  uint64_t nextSequence = 1;
  uint32_t nextStream = 0;
  emu::StreamClock host;
  uint64_t randomState = 88172645463325252ull;
};

/// The context that is current on the calling host thread, or null.
Context currentContext();

} // namespace dlc::cuda

/// Locks the driver as `driver`, and returns from the function if it may not go on.
#define DLC_EMU_ENTER()                                                                            \
  Driver &driver = Driver::get();                                                                  \
  std::lock_guard lock(driver.mutex);                                                              \
  if (Result entered = driver.enter(__func__); entered != Result::Success)                         \
  return entered

/// The same for what gives something back: that is done after an error too, which is then returned.
#define DLC_EMU_ENTER_CLEANUP()                                                                    \
  Driver &driver = Driver::get();                                                                  \
  std::lock_guard lock(driver.mutex);                                                              \
  if (Result entered = driver.enterCleanup(); entered != driver.sticky)                            \
  return entered

/// Counts a call that needs no context, and returns the fault planted in it.
#define DLC_EMU_COUNT()                                                                            \
  if (Result planted = Driver::get().countCall(__func__); planted != Result::Success)              \
  return planted
