//===- OldGlibcTest.c - The functions of tools/python/OldGlibc.c ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct MallocInfo {
  size_t fields[10];
};
struct MallocInfo mallinfo2(void);
uint32_t arc4random(void);
int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int failures = 0;

static void expect(int isRight, const char *what) {
  if (!isRight) {
    printf("FAILED %s\n", what);
    ++failures;
  }
}

static int64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Waits for `offset` nanoseconds from now by `clock`; how long it took.
static int64_t waited(clockid_t clock, int64_t offset, int expected) {
  int64_t begin = nanoseconds(CLOCK_MONOTONIC), until = nanoseconds(clock) + offset;
  struct timespec time = {until / 1000000000, until % 1000000000};
  pthread_mutex_lock(&lock);
  int result;
  while ((result = pthread_cond_clockwait(&condition, &lock, clock, &time)) == 0 && expected) {
  }
  expect(result == expected, "the result of a wait");
  pthread_mutex_unlock(&lock);
  return nanoseconds(CLOCK_MONOTONIC) - begin;
}

static void *signal_soon(void *unused) {
  struct timespec pause = {0, 50000000};
  nanosleep(&pause, NULL);
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  const int64_t millisecond = 1000000;
  clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
  for (int i = 0; i < 2; ++i) {
    // Limits whose nanoseconds carry into a second, either way.
    for (int64_t offset = 30; offset <= 1030; offset += 250)
      expect(waited(clocks[i], offset * millisecond, ETIMEDOUT) >= (offset - 1) * millisecond,
             "a wait up to its limit");
    expect(waited(clocks[i], -2500 * millisecond, ETIMEDOUT) < 2000 * millisecond,
           "a limit that has passed");
    pthread_t thread;
    pthread_create(&thread, NULL, signal_soon, NULL);
    expect(waited(clocks[i], 60000 * millisecond, 0) < 30000 * millisecond, "a signal");
    pthread_join(thread, NULL);
  }
  uint32_t any = 0, all = UINT32_MAX;
  for (int i = 0; i < 64; ++i) {
    uint32_t bits = arc4random();
    any |= bits;
    all &= bits;
  }
  expect(any == UINT32_MAX && all == 0, "each of the bits is 0 and is 1");
  size_t before = mallinfo2().fields[7]; // uordblks: bytes in use
  char *volatile held = malloc(100000);
  size_t grown = mallinfo2().fields[7] - before;
  expect(grown >= 100000 && grown < 200000, "bytes in use");
  free(held);
  return failures != 0;
}
