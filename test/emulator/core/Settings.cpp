//===- Settings.cpp - what the environment asks of the emulator -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/Settings.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace dlc::emu {

int sharedLimit(int arch) {
  struct Row {
    int arch, kibibytes;
  };
  static constexpr Row rows[] = {{0, 48},   {70, 96}, {75, 64},  {80, 163}, {86, 99},
                                 {87, 163}, {89, 99}, {90, 227}, {120, 99}};
  int limit = 0;
  for (const Row &row : rows)
    if (row.arch <= arch)
      limit = row.kibibytes << 10;
  return limit;
}

namespace {

void complain(const char *variable, const char *value, const char *expected) {
  static bool done = false;
  if (!done)
    std::fprintf(stderr, "dlc cuda-emu: %s=%s ignored: expected %s\n", variable, value, expected);
  done = true;
}

bool readPolicy(const char *text, Settings &settings) {
  if (!std::strcmp(text, "order")) {
    settings.policy = Policy::Order;
  } else if (!std::strcmp(text, "reverse")) {
    settings.policy = Policy::Reverse;
  } else if (!std::strncmp(text, "random", 6)) {
    settings.policy = Policy::Random;
    if (text[6] == 0)
      return true;
    char *end = nullptr;
    settings.seed = std::strtoull(text + 7, &end, 10);
    return text[6] == ':' && end != text + 7 && *end == 0;
  } else {
    return false;
  }
  return true;
}

Settings readEnvironment() {
  Settings settings;
  if (const char *text = std::getenv("DLC_EMU_POLICY"))
    if (!readPolicy(text, settings)) {
      complain("DLC_EMU_POLICY", text, "order, reverse, random or random:SEED");
      settings.policy = Policy::Order;
    }
  if (const char *text = std::getenv("DLC_EMU_CHECK"))
    settings.check = *text && std::strcmp(text, "0") != 0;
  if (const char *text = std::getenv("DLC_EMU_IDLE"))
    settings.idle = *text && std::strcmp(text, "0") != 0;
  if (const char *text = std::getenv("DLC_EMU_WORKERS")) {
    settings.workers = std::atoi(text);
    if (settings.workers < 1 || settings.workers > 256) {
      complain("DLC_EMU_WORKERS", text, "a number from 1 to 256");
      settings.workers = 0;
    }
  }
  auto readNumber = [](const char *variable, int least, int most, int &value) {
    const char *text = std::getenv(variable);
    if (!text || !*text)
      return;
    int given = std::atoi(text);
    if (given >= least && given <= most)
      value = given;
    else
      complain(variable, text, "such a number as CUDA uses");
  };
  readNumber("DLC_EMU_ARCH", 10, 999, settings.arch);
  readNumber("DLC_EMU_DRIVER", 9000, 99990, settings.driverVersion);
  readNumber("DLC_EMU_MULTIPROCESSORS", 1, 1024, settings.multiprocessors);
  int limit = sharedLimit(settings.arch);
  settings.sharedBytes = limit;
  readNumber("DLC_EMU_SHARED", std::min(limit, 48 << 10), limit, settings.sharedBytes);
  return settings;
}

} // namespace

std::string Settings::describePolicy() const {
  switch (policy) {
  case Policy::Order:
    return "order";
  case Policy::Reverse:
    return "reverse";
  case Policy::Random:
    return "random:" + std::to_string(seed);
  }
  return "";
}

Settings readSettings() {
  // Who asks for the host's time does not mean that of reading some hundred variables.
  static const Settings first = readEnvironment();
  return first.idle ? first : readEnvironment();
}

} // namespace dlc::emu
