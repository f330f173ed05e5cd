//===- dlc_emu_check.h - instrumentation callbacks of a checked kernel ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clang calls these at each load and store (-fsanitize-coverage=trace-loads,trace-stores) and at
// each misaligned access (-fsanitize=alignment). They are defined hidden in each kernel's own
// image: a process that links a sanitizer's runtime has global functions of the same names.
//===----------------------------------------------------------------------===//
#pragma once

#define DLC_EMU_HOOK                                                                               \
  extern "C" __attribute__((visibility("hidden"), used, no_sanitize("coverage", "alignment"))) void

DLC_EMU_HOOK __sanitizer_cov_trace_pc() {}
DLC_EMU_HOOK __sanitizer_cov_load1(u8 *p) { dlcEmuAccess(p, 1, DlcEmuLoad); }
DLC_EMU_HOOK __sanitizer_cov_load2(u16 *p) { dlcEmuAccess(p, 2, DlcEmuLoad); }
DLC_EMU_HOOK __sanitizer_cov_load4(u32 *p) { dlcEmuAccess(p, 4, DlcEmuLoad); }
DLC_EMU_HOOK __sanitizer_cov_load8(u64 *p) { dlcEmuAccess(p, 8, DlcEmuLoad); }
DLC_EMU_HOOK __sanitizer_cov_load16(void *p) { dlcEmuAccess(p, 16, DlcEmuLoad); }
DLC_EMU_HOOK __sanitizer_cov_store1(u8 *p) { dlcEmuAccess(p, 1, DlcEmuStore); }
DLC_EMU_HOOK __sanitizer_cov_store2(u16 *p) { dlcEmuAccess(p, 2, DlcEmuStore); }
DLC_EMU_HOOK __sanitizer_cov_store4(u32 *p) { dlcEmuAccess(p, 4, DlcEmuStore); }
DLC_EMU_HOOK __sanitizer_cov_store8(u64 *p) { dlcEmuAccess(p, 8, DlcEmuStore); }
DLC_EMU_HOOK __sanitizer_cov_store16(void *p) { dlcEmuAccess(p, 16, DlcEmuStore); }

/// The head of what clang describes a possibly misaligned access with.
struct DlcEmuTypeMismatch {
  const char *file;
  u32 line, column;
  const void *type;
  u8 logAlignment, kind;
};
DLC_EMU_HOOK __ubsan_handle_type_mismatch_v1(DlcEmuTypeMismatch *where, void *p) {
  dlcEmuMisaligned(p, 1u << where->logAlignment, where->file, where->line);
}
DLC_EMU_HOOK __ubsan_handle_type_mismatch_v1_abort(DlcEmuTypeMismatch *where, void *p) {
  dlcEmuMisaligned(p, 1u << where->logAlignment, where->file, where->line);
}
