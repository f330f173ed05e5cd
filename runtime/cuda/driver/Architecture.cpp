//===- Architecture.cpp - What device code is compiled for -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Architecture.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <charconv>

using namespace dlc;
using namespace dlc::cuda;
using rt::quoted;
using rt::Status;
using rt::text;
using schema::CubinVariant;

/// The first architectures with instructions of their own (wgmma), and with families.
static constexpr int kFirstSpecific = 90, kFirstFamily = 100;

/// Integrated GPUs: their code and that of the cards of the same generation do not serve each
/// other.
static bool isIntegrated(int number) {
  return number == 87 || number == 88 || number == 101 || number == 110;
}

rt::Expected<Architecture> Architecture::parse(std::string_view name) {
  auto refuse = [&](const std::string &why) {
    return Status(DLC_USAGE, text("architecture ", quoted(name), ": ", why));
  };
  static constexpr std::string_view prefix = "sm_";
  Architecture arch;
  std::string_view rest = name;
  if (!rest.starts_with(prefix))
    return refuse("expected a name such as sm_80, sm_90a or sm_120");
  rest.remove_prefix(prefix.size());
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), arch.number);
  std::string_view suffix(end, rest.data() + rest.size() - end);
  if (error != std::errc() || rest.front() == '0' || arch.number < 10 || arch.number > 999)
    return refuse("expected a name such as sm_80, sm_90a or sm_120");
  if (suffix == "a")
    arch.variant = CubinVariant::specific;
  else if (suffix == "f")
    arch.variant = CubinVariant::family;
  else if (!suffix.empty())
    return refuse("after the number expected nothing, 'a' (exactly this GPU) or 'f' (its family)");
  if (arch.number < kOldestArchitecture)
    return refuse("dlc needs sm_80 (Ampere) or newer");
  if (arch.variant == CubinVariant::specific && arch.number < kFirstSpecific)
    return refuse("GPUs before sm_90 have no 'a' variant");
  if (arch.variant == CubinVariant::family && arch.number < kFirstFamily)
    return refuse("GPUs before sm_100 have no 'f' variant");
  return arch;
}

Architecture Architecture::ofDevice(int number) {
  return {number, number >= kFirstSpecific ? CubinVariant::specific : CubinVariant::plain};
}

std::string Architecture::name() const {
  const char *suffix = variant == CubinVariant::specific ? "a"
                       : variant == CubinVariant::family ? "f"
                                                         : "";
  return text("sm_", number, suffix);
}

bool Architecture::runsOn(int device) const {
  if (device == number)
    return true;
  if (variant == CubinVariant::specific || isIntegrated(device) || isIntegrated(number))
    return false;
  return device / 10 == number / 10 && device > number;
}

bool dlc::cuda::servesBetter(const Architecture &a, const Architecture &b) {
  return a.number != b.number ? a.number > b.number : a.variant > b.variant;
}

/// What a compiler takes that lists `number`: a listed one has its variants too.
static std::vector<Architecture> variantsOf(int number) {
  std::vector<Architecture> variants;
  if (number < kOldestArchitecture)
    return variants;
  variants.push_back({number, CubinVariant::plain});
  if (number >= kFirstFamily)
    variants.push_back({number, CubinVariant::family});
  if (number >= kFirstSpecific)
    variants.push_back({number, CubinVariant::specific});
  return variants;
}

std::string dlc::cuda::describeArchitectures(const std::vector<int> &numbers) {
  std::string out;
  for (int number : numbers)
    for (const Architecture &arch : variantsOf(number))
      out += (out.empty() ? "" : ", ") + arch.name();
  return out;
}

bool dlc::cuda::isKnown(const Architecture &arch, const std::vector<int> &numbers) {
  return std::find(numbers.begin(), numbers.end(), arch.number) != numbers.end();
}
