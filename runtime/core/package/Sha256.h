//===- Sha256.h - SHA-256 -------------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_PACKAGE_SHA256_H
#define DLC_RUNTIME_CORE_PACKAGE_SHA256_H

#include <array>
#include <string>
#include <string_view>

namespace dlc::rt {

/// FIPS 180-4. Neither the runtime nor the emulator links OpenSSL or LLVM, whose versions would
/// serve otherwise.
std::array<unsigned char, 32> sha256(std::string_view bytes);

std::string hexadecimal(const std::array<unsigned char, 32> &hash);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_PACKAGE_SHA256_H
