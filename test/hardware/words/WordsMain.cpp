//===- WordsMain.cpp - gpu-words: the vocabulary against the emulator's answers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-words --list                        name, whether it needs compute capability 9.0, identity
//                                         of the text, words
// gpu-words --record FOLDER               writes each case's answer; meant for the emulator
//                                         (DLC_LIBCUDA, DLC_LIBNVRTC)
// gpu-words --compare FOLDER [NAME]...    "ok", "FAILED" or "left out", a line for each case; exit
//                                         status 4 where one failed
//===--------------------------------------------------------------------------------------===//
#include "test/hardware/words/Words.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace dlc;
using namespace dlc::hardware;

static std::string answerFile(const std::string &folder, const WordCase &word) {
  std::string name = word.name;
  for (char &c : name)
    if (c == ' ' || c == ',')
      c = '-';
  return folder + "/" + name + ".answer";
}

static int list() {
  cuda::KernelDigest digest;
  for (const WordCase &word : wordCases()) {
    std::string words;
    for (const std::string &one : word.words)
      words += (words.empty() ? "" : ",") + one;
    std::printf("%s\t%d\t%s\t%s\n", word.name.c_str(), word.needsHopper,
                digest.of(textOf(word.file)).c_str(), words.c_str());
  }
  return 0;
}

/// The sentence about what went wrong; empty where nothing did.
static std::string runCase(Gpu &gpu, const WordCase &word, const std::string &folder,
                           bool isRecording) {
  cuda::KernelText text = textOf(word.file);
  auto function = gpu.find(text, word.kernel);
  if (function.failed())
    return function.status().message();
  std::vector<char> answer;
  if (rt::Status status = word.run(gpu, *function, answer); status.failed())
    return status.message();
  std::string path = answerFile(folder, word);
  if (isRecording) {
    std::ofstream file(path, std::ios::binary);
    file.write(answer.data(), static_cast<std::streamsize>(answer.size()));
    return file.flush() ? "" : "cannot write " + path;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return "no answer is recorded in " + path;
  std::vector<char> expected((std::istreambuf_iterator<char>(file)), {});
  return difference(word.sameness, answer, expected);
}

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--list" && argc == 2)
    return list();
  if (argc < 3 || (mode != "--record" && mode != "--compare")) {
    std::fprintf(stderr,
                 "usage: gpu-words --list | --record FOLDER | --compare FOLDER [NAME]...\n");
    return 2;
  }
  std::vector<std::string> names(argv + 3, argv + argc);
  for (const std::string &name : names)
    if (std::none_of(wordCases().begin(), wordCases().end(),
                     [&](const WordCase &word) { return word.name == name; })) {
      std::fprintf(stderr, "error: there is no case '%s'; see gpu-words --list\n", name.c_str());
      return 2;
    }
  auto gpu = Gpu::open(0);
  if (gpu.failed()) {
    std::fprintf(stderr, "error: %s\n", gpu.status().message().c_str());
    return 5;
  }
  int failures = 0;
  for (const WordCase &word : wordCases()) {
    if (!names.empty() && std::find(names.begin(), names.end(), word.name) == names.end())
      continue;
    if (word.needsHopper && (*gpu)->architecture() != 90) {
      std::printf("left out %s: needs compute capability 9.0, the GPU has %d.%d\n",
                  word.name.c_str(), (*gpu)->architecture() / 10, (*gpu)->architecture() % 10);
      continue;
    }
    std::string problem = runCase(**gpu, word, argv[2], mode == "--record");
    std::printf("%s %s%s%s\n", problem.empty() ? "ok" : "FAILED", word.name.c_str(),
                problem.empty() ? "" : ": ", problem.c_str());
    std::fflush(stdout);
    failures += !problem.empty();
  }
  return failures ? 4 : 0;
}
