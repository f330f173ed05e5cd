//===- Corpus.cpp - The kernel texts to compile ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/nvrtc/Corpus.h"

#include "runtime/cuda/kernels/Kernels.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace dlc::embed {
struct File {
  const char *name, *text;
};
extern const File deviceHeaders[];
} // namespace dlc::embed

using namespace dlc;
using namespace dlc::nvrtc;

static std::string baseName(const std::string &path) {
  return path.substr(path.find_last_of('/') + 1);
}

void Corpus::add(Source source) {
  source.digest = digest.of(source.text);
  auto [known, isNew] = byDigest.emplace(source.digest, all.size());
  if (isNew) {
    all.push_back(std::move(source));
    return;
  }
  ++repetitions;
  for (auto &[kernel, facts] : source.launches) {
    LaunchFacts &kept = all[known->second].launches[kernel];
    kept.threads = std::max(kept.threads, facts.threads);
    kept.dynamicShared = std::max(kept.dynamicShared, facts.dynamicShared);
  }
}

void Corpus::addText(const std::string &name, const std::string &text, const std::string &kind) {
  texts.push_back(std::make_unique<std::string>(text));
  Source source;
  source.name = source.text.name = name;
  source.kind = kind;
  source.text.source = texts.back()->c_str();
  for (const embed::File *file = embed::deviceHeaders; file->name; ++file) {
    source.text.headerNames.push_back(file->name);
    source.text.headers.push_back(file->text);
  }
  add(std::move(source));
}

bool Corpus::addModel(const std::string &path) {
  auto loaded = rt::Module::load(path.c_str(), /*verifyAll=*/false);
  if (loaded.failed()) {
    std::printf("FAIL %s: %s\n", path.c_str(), loaded.status().message().c_str());
    return false;
  }
  modules.push_back(loaded.take());
  const rt::Module &module = *modules.back();
  const schema::Program *program = module.program(schema::Target::cuda);
  if (!program) {
    std::printf("FAIL %s: no CUDA program in it\n", path.c_str());
    return false;
  }
  if (!program->kernels() || program->kernels()->size() == 0) // copies alone
    return true;
  std::vector<cuda::KernelText> units = cuda::kernelTexts(module.table(), *program);
  std::vector<Source> sources(units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    sources[i].name = baseName(path) + ": " + units[i].name;
    sources[i].text = units[i];
  }
  std::vector<LaunchFacts *> facts;
  for (const schema::Kernel *kernel : *program->kernels()) {
    Source &source = sources[kernel->cuda_source()];
    source.kind = kernel->kind()->str();
    facts.push_back(&source.launches[kernel->name()->str()]);
    facts.back()->kind = source.kind;
    facts.back()->threads = 1;
    for (uint32_t extent : *kernel->block())
      facts.back()->threads *= static_cast<int>(extent);
  }
  auto noteShared = [&](const schema::Launch &launch) {
    if (auto bytes = module.expressions().constant(launch.scratch_bytes()))
      facts[launch.kernel()]->dynamicShared =
          std::max(facts[launch.kernel()]->dynamicShared, static_cast<int>(*bytes));
  };
  for (const auto *commands : {program->init(), program->main()})
    for (size_t i = 0; commands && i < commands->size(); ++i)
      if (const schema::Launch *launch = commands->Get(i)->command_as_Launch()) {
        noteShared(*launch);
        for (size_t k = 0; launch->variants() && k < launch->variants()->size(); ++k)
          noteShared(*launch->variants()->Get(k)->launch());
        for (size_t k = 0; launch->chains() && k < launch->chains()->size(); ++k)
          noteShared(*launch->chains()->Get(k)->launch());
      }
  for (Source &source : sources)
    add(std::move(source));
  return true;
}

bool Corpus::addFile(const std::string &path, const std::string &kind) {
  if (path.ends_with(".bin"))
    return addModel(path);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    std::printf("FAIL %s: cannot be read\n", path.c_str());
    return false;
  }
  addText(baseName(path), text.str(), kind);
  return true;
}
