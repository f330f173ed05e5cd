//===- Isa.cpp - Which of a package's code images this processor runs ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/Isa.h"
#include "runtime/core/Text.h"

#include <cstdlib>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace dlc;
using namespace dlc::cpu;
using rt::quoted;
using rt::text;

namespace {

/// Register state that the operating system must save for a feature to be usable: bits of XCR0.
enum : uint64_t { kNone = 0, kAvx = 0x6, kAvx512 = 0xe6, kAmx = 0x60000 };
enum Word { leaf1Ecx, leaf1Edx, leaf7Ebx, leaf7Ecx, leaf7Edx, leaf71Eax, extendedEcx, numWords };

struct Feature {
  std::string_view name;
  Word word;
  int bit;
  uint64_t state;
};

constexpr Feature kFeatures[] = {
    {"sse", leaf1Edx, 25, kNone},
    {"sse2", leaf1Edx, 26, kNone},
    {"sse3", leaf1Ecx, 0, kNone},
    {"ssse3", leaf1Ecx, 9, kNone},
    {"sse4.1", leaf1Ecx, 19, kNone},
    {"sse4.2", leaf1Ecx, 20, kNone},
    {"popcnt", leaf1Ecx, 23, kNone},
    {"movbe", leaf1Ecx, 22, kNone},
    {"avx", leaf1Ecx, 28, kAvx},
    {"f16c", leaf1Ecx, 29, kAvx},
    {"fma", leaf1Ecx, 12, kAvx},
    {"avx2", leaf7Ebx, 5, kAvx},
    {"bmi", leaf7Ebx, 3, kNone},
    {"bmi2", leaf7Ebx, 8, kNone},
    {"lzcnt", extendedEcx, 5, kNone},
    {"avxvnni", leaf71Eax, 4, kAvx},
    {"avx512f", leaf7Ebx, 16, kAvx512},
    {"avx512dq", leaf7Ebx, 17, kAvx512},
    {"avx512cd", leaf7Ebx, 28, kAvx512},
    {"avx512bw", leaf7Ebx, 30, kAvx512},
    {"avx512vl", leaf7Ebx, 31, kAvx512},
    {"avx512ifma", leaf7Ebx, 21, kAvx512},
    {"avx512vbmi", leaf7Ecx, 1, kAvx512},
    {"avx512vbmi2", leaf7Ecx, 6, kAvx512},
    {"avx512vnni", leaf7Ecx, 11, kAvx512},
    {"avx512bitalg", leaf7Ecx, 12, kAvx512},
    {"avx512vpopcntdq", leaf7Ecx, 14, kAvx512},
    {"avx512fp16", leaf7Edx, 23, kAvx512},
    {"avx512bf16", leaf71Eax, 5, kAvx512},
    {"amx-bf16", leaf7Edx, 22, kAmx},
    {"amx-tile", leaf7Edx, 24, kAmx},
    {"amx-int8", leaf7Edx, 25, kAmx},
};

/// What an image's name promises beside the features that it lists.
struct IsaLevel {
  std::string_view name;
  int rank;
  std::vector<std::string_view> features;
};

const std::vector<IsaLevel> &levels() {
  static const auto &known = *new std::vector<IsaLevel>{
      {"avx512_bf16", 5, {"avx512bf16", "avx512vnni", "avx512f", "avx512bw"}},
      {"avx512_vnni", 4, {"avx512vnni", "avx512f", "avx512bw"}},
      {"avx512",
       3,
       {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx2", "fma", "f16c"}},
      {"avx2", 2, {"avx2", "fma", "f16c"}},
      {"sse2", 1, {"sse2"}},
  };
  return known;
}

struct Cpu {
  uint32_t words[numWords] = {};
  uint64_t state = 0;
  std::string vendor;

  Cpu() {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d))
      for (uint32_t word : {b, d, c})
        vendor.append(reinterpret_cast<const char *>(&word), sizeof(word));
    if (__get_cpuid(1, &a, &b, &c, &d)) {
      words[leaf1Ecx] = c;
      words[leaf1Edx] = d;
      if (c & (1u << 27)) { // OSXSAVE
        uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        state = (uint64_t(high) << 32) | low;
      }
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
      words[leaf7Ebx] = b;
      words[leaf7Ecx] = c;
      words[leaf7Edx] = d;
      if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
        words[leaf71Eax] = a;
    }
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
      words[extendedEcx] = c;
#endif
  }
};

const Cpu &thisCpu() {
  static const Cpu cpu;
  return cpu;
}

/// Features of the image that this processor lacks, by name.
std::string missingFeatures(const schema::CpuImage &image) {
  std::string missing;
  auto need = [&](std::string_view name) {
    if (!hasFeature(name) && missing.find(quoted(name)) == std::string::npos)
      missing += (missing.empty() ? "" : ", ") + quoted(name);
  };
  for (const IsaLevel &level : levels())
    if (level.name == image.isa()->string_view())
      for (std::string_view name : level.features)
        need(name);
  if (image.features())
    for (const flatbuffers::String *name : *image.features())
      need(name->string_view());
  return missing;
}

/// Whether code for the level is slower here than that of levels below it. vdpbf16ps multiplies
/// twice as fast as an fma of f32 on AMD's processors, and half as fast on the Intel Xeon with AMX
/// where it was measured. The vendor decides, and no measurement: the choice changes bits, and a
/// device gives the same bits in each run.
bool isSlowHere(const IsaLevel &level) {
  return level.name == "avx512_bf16" && thisCpu().vendor != "AuthenticAMD";
}

/// The image of the highest rank is taken; one of rank 0 where no other fits.
int rankOf(const schema::CpuImage &image) {
  for (const IsaLevel &level : levels())
    if (level.name == image.isa()->string_view())
      return isSlowHere(level) ? 0 : level.rank;
  return 0;
}

} // namespace

bool dlc::cpu::hasFeature(std::string_view name) {
  const Cpu &cpu = thisCpu();
  // LLVM writes "+avx2" in feature lists.
  if (name.starts_with('+'))
    name.remove_prefix(1);
  for (const Feature &feature : kFeatures)
    if (feature.name == name)
      return ((cpu.words[feature.word] >> feature.bit) & 1) &&
             (cpu.state & feature.state) == feature.state;
  return false;
}

rt::Expected<uint32_t> dlc::cpu::chooseImage(const schema::Program &program) {
  const auto *images = program.cpu_images();
  uint32_t count = images ? images->size() : 0;
  const char *wanted = std::getenv("DLC_CPU_ISA");
  if (wanted && !*wanted)
    wanted = nullptr;
  std::string offered, lacking;
  uint32_t best = count;
  for (uint32_t i = 0; i < count; ++i) {
    const schema::CpuImage &image = *images->Get(i);
    offered += (offered.empty() ? "" : ", ") + image.isa()->str();
    if (wanted && image.isa()->string_view() != wanted)
      continue;
    std::string missing = missingFeatures(image);
    if (!missing.empty()) {
      lacking += text("; ", image.isa()->string_view(), " needs ", missing);
      continue;
    }
    auto weight = [&](uint32_t k) {
      const schema::CpuImage &other = *images->Get(k);
      return std::pair(rankOf(other), other.features() ? other.features()->size() : 0);
    };
    if (best == count || weight(i) > weight(best))
      best = i;
  }
  if (best < count)
    return best;
  if (wanted && lacking.empty())
    return rt::Status(
        DLC_USAGE, text("DLC_CPU_ISA is ", quoted(wanted), ", the module has code for ", offered));
  return rt::Status(DLC_INCOMPATIBLE,
                    text("the module's CPU code is for another processor: it has ",
                         offered.empty() ? "none" : offered, ", which this one cannot run", lacking,
                         ": compile the model for this processor"));
}
