//===- Sha256.h - SHA-256 ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <array>
#include <string>
#include <string_view>

namespace dlc::emu {

/// FIPS 180-4. The emulator builds without LLVM and OpenSSL, whose versions would serve otherwise.
std::array<unsigned char, 32> sha256(std::string_view bytes);

std::string hexadecimal(const std::array<unsigned char, 32> &hash);

} // namespace dlc::emu
