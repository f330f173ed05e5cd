//===- dlc_emu_launch.h - from cuLaunchKernel's void** to a typed call ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fake NVRTC appends DLC_EMU_EXPORT(kernel, threads, cluster) for each kernel that it finds in
// the text. It exports the kernel's parameter sizes, which the driver needs to copy parameters at
// launch.
//===----------------------------------------------------------------------===//
#pragma once

/// What the driver reads of a kernel.
struct DlcEmuKernelInfo {
  void (*call)(void **params);
  unsigned maxThreads;
  unsigned cluster; ///< blocks, neighbours along the grid's x; 1 where there are no clusters
  unsigned paramCount;
  const unsigned *paramBytes;
};

namespace dlc::emu_launch {

template <size_t... I> struct indices {};
template <size_t N, size_t... I> struct make_indices : make_indices<N - 1, N - 1, I...> {};
template <size_t... I> struct make_indices<0, I...> {
  using type = indices<I...>;
};
template <class T> struct without_const {
  using type = T;
};
template <class T> struct without_const<const T> {
  using type = T;
};

template <class... A> struct signature {
  static constexpr unsigned count = sizeof...(A);
  static constexpr unsigned bytes[sizeof...(A) + 1] = {(unsigned)sizeof(A)..., 0u};
};
template <class... A> signature<A...> signature_of(void (*)(A...));

template <class... A, size_t... I>
inline void call(void (*kernel)(A...), void **params, indices<I...>) {
  kernel(*static_cast<typename without_const<A>::type *>(params[I])...);
}
template <class... A> inline void call(void (*kernel)(A...), void **params) {
  call(kernel, params, typename make_indices<sizeof...(A)>::type{});
}

} // namespace dlc::emu_launch

#define DLC_EMU_EXPORT(kernel, threads, cluster)                                                   \
  static void kernel##_dlc_emu_call(void **params) { dlc::emu_launch::call(kernel, params); }      \
  extern "C" __attribute__((visibility("default"))) const DlcEmuKernelInfo kernel##_dlc_emu = {    \
      kernel##_dlc_emu_call, (threads), (cluster),                                                 \
      decltype(dlc::emu_launch::signature_of(kernel))::count,                                      \
      decltype(dlc::emu_launch::signature_of(kernel))::bytes};
