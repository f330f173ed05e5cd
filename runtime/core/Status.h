//===- Status.h - Success, or a code with a sentence ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything in the runtime that can fail returns a Status or an Expected. Exceptions are not used;
// those of the standard library (bad_alloc) are caught where the C API begins.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_STATUS_H
#define DLC_RUNTIME_CORE_STATUS_H

#include "dlc/runtime.h"

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace dlc::rt {

/// Success, or a code and one sentence that says what was expected, what was got, and what to do.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(dlc_status code, std::string message) : statusCode(code), text(std::move(message)) {
    assert(code != DLC_OK && "a failure needs a code");
  }

  bool failed() const { return statusCode != DLC_OK; }
  dlc_status code() const { return statusCode; }
  const std::string &message() const { return text; }
  /// The same failure with `prefix` (a file name, a step) before its sentence.
  Status within(const std::string &prefix) const {
    return failed() ? Status(statusCode, prefix + text) : Status();
  }

private:
  dlc_status statusCode = DLC_OK;
  std::string text;
};

/// A value, or the failure that kept it from being made.
template <class T> class [[nodiscard]] Expected {
public:
  Expected(T value) : held(std::move(value)) {}
  Expected(Status status) : error(std::move(status)) { assert(error.failed()); }

  bool failed() const { return !held; }
  Status status() const { return error; }
  T &operator*() {
    assert(held);
    return *held;
  }
  T *operator->() { return &**this; }
  /// Moves the value out.
  T take() { return std::move(**this); }

private:
  std::optional<T> held;
  Status error;
};

} // namespace dlc::rt

/// Returns from the enclosing function where `expression` (a Status) failed.
#define DLC_TRY(expression)                                                                        \
  do {                                                                                             \
    if (::dlc::rt::Status dlcStatus = (expression); dlcStatus.failed())                            \
      return dlcStatus;                                                                            \
  } while (false)

#endif // DLC_RUNTIME_CORE_STATUS_H
