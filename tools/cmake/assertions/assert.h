/*===- assert.h - Assertions that run although NDEBUG is defined --------------------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Takes the place of the C library's header in the sanitized build. NDEBUG must be defined there as
 * in LLVM's packages, since LLVM's headers lay out classes by it; assertions of ours, and those in
 * functions of LLVM's headers, are to run all the same. Like the C library's it has no guard: the
 * last inclusion decides. A source that defines DLC_NO_ASSERTIONS has none.
 *===------------------------------------------------------------------------------------------===*/
#undef assert
#undef DLC_ASSERTIONS
#define DLC_ASSERTIONS 1

#ifdef DLC_NO_ASSERTIONS
#define assert(condition) ((void)0)
#elif defined(__cplusplus)
extern "C" void __assert_fail(const char *, const char *, unsigned, const char *) noexcept(true)
    __attribute__((__noreturn__));
#define assert(condition)                                                                          \
  (static_cast<bool>(condition)                                                                    \
       ? static_cast<void>(0)                                                                      \
       : __assert_fail(#condition, __FILE__, __LINE__, static_cast<const char *>(__func__)))
#else
extern void __assert_fail(const char *, const char *, unsigned, const char *)
    __attribute__((__noreturn__));
#define assert(condition)                                                                          \
  ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__, __func__))
#define static_assert _Static_assert
#endif
