//===- ModuleVerifier.h - Does a module mean something that can be run? ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The FlatBuffers verifier checks structure: that each offset stays inside the table. Here the
// meaning is checked: indices, expressions, shapes, segments, lifetimes, launch limits. All of it
// comes before anything is allocated, so that the code after it may trust the table.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_PACKAGE_MODULEVERIFIER_H
#define DLC_RUNTIME_CORE_PACKAGE_MODULEVERIFIER_H

#include "runtime/core/Status.h"
#include "runtime/core/bind/Expressions.h"
#include "runtime/schema/module_generated.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::rt {

/// A failure that names the place in the module: "program 0 (cpu), buffer 3: ...".
template <class... Pieces> Status refuseModule(const std::string &where, const Pieces &...what);

/// Limits of the FlatBuffers verifier: tables inside tables, and tables in all.
inline constexpr size_t kMaxDepth = 20, kMaxTables = 4000000;

/// The expressions of a module and of the modules that its flow calls.
struct VerifiedModule {
  Expressions expressions;
  std::vector<Expressions> segments;
};

/// Checks `module`, whose segments must lie in [segmentsBegin, fileBytes), and whose structure the
/// FlatBuffers verifier has checked. DLC_INCOMPATIBLE with the first fault found.
Expected<VerifiedModule> verifyModule(const schema::Module &module, uint64_t segmentsBegin,
                                      uint64_t fileBytes);

/// One program of it, after everything outside the programs was checked.
Status verifyProgram(const schema::Module &module, const Expressions &expressions, size_t index);

/// Every segment of bytes that the module names, those of its nested modules included, with what it
/// holds, in the order of the table.
struct NamedSegment {
  const schema::Segment *segment;
  std::string what;
};
std::vector<NamedSegment> segmentsOf(const schema::Module &module);

} // namespace dlc::rt

#include "runtime/core/Text.h"

template <class... Pieces>
dlc::rt::Status dlc::rt::refuseModule(const std::string &where, const Pieces &...what) {
  return malformed(where, ": ", what...);
}

#endif // DLC_RUNTIME_CORE_PACKAGE_MODULEVERIFIER_H
