//===- RefusedCall.h - A system call that fails, in a process of its own ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that runs out, a file that cannot be mapped, a policy against executable memory: a child
// process forbids itself one system call (seccomp) and reports what was said.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_RUNTIME_REFUSEDCALL_H
#define DLC_TEST_UNIT_RUNTIME_REFUSEDCALL_H

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <functional>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc::test {

/// Calls of the number `call` with `value` as their argument `argument` fail with `error`.
struct Refusal {
  long call;
  int argument;
  uint32_t value;
  int error;
};

inline bool install(const Refusal &refusal) {
  auto offset = static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * refusal.argument);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(refusal.call), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset), // the low half: little-endian machines only
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusal.value, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(refusal.error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// What `body` returns in a process where the system refuses a call.
inline std::string resultUnder(const Refusal &refusal, const std::function<std::string()> &body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    std::string message = install(refusal) ? body() : "the system has no seccomp filters";
    bool written = write(ends[1], message.data(), message.size()) == ssize_t(message.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string message;
  char piece[256];
  for (ssize_t count; (count = read(ends[0], piece, sizeof(piece))) > 0;)
    message.append(piece, static_cast<size_t>(count));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child died";
  return message;
}

} // namespace dlc::test

#endif // DLC_TEST_UNIT_RUNTIME_REFUSEDCALL_H
