//===- OldGlibc.c - What the wheel asks of glibc and old versions lack ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's archives and libstdc++ are compiled against the glibc of the distribution that the wheel
// is made on. The few functions that they take of versions after 2.28 are here; link_for_old_glibc
// puts this file into what it links.
//===--------------------------------------------------------------------------------------===//
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <time.h>

// 2.32. libstdc++ counts references without atomics while it is true; it may always be false.
char __libc_single_threaded = 0;

// 2.36
uint32_t arc4random(void) {
  uint32_t bits = 0;
  while (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) {
  }
  return bits;
}

// 2.30. The clocks may part while it waits, by a step of the system's time: callers look at their
// own clock after it.
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
  struct timespec now, real;
  if (clock == CLOCK_REALTIME)
    return pthread_cond_timedwait(condition, mutex, until);
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  const int64_t second = 1000000000;
  int64_t seconds = (int64_t)until->tv_sec - now.tv_sec;
  int64_t rest = (int64_t)until->tv_nsec - now.tv_nsec + real.tv_nsec;
  seconds += rest / second;
  rest %= second;
  if (rest < 0) {
    rest += second;
    --seconds;
  }
  real.tv_sec += seconds;
  real.tv_nsec = rest;
  return pthread_cond_timedwait(condition, mutex, &real);
}

// 2.33: mallinfo() with numbers that do not overflow. LLVM reports memory by it.
struct OldMallocInfo {
  int fields[10];
};
struct MallocInfo {
  size_t fields[10];
};
struct OldMallocInfo mallinfo(void);
struct MallocInfo mallinfo2(void) {
  struct OldMallocInfo old = mallinfo();
  struct MallocInfo made;
  for (int i = 0; i < 10; ++i)
    made.fields[i] = (unsigned)old.fields[i];
  return made;
}
