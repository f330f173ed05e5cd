//===- Package.cpp - What a model.bin says about itself -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/Package.h"

#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace dlc {

std::shared_ptr<rt::Module> openPackage(const std::string &path, int &code) {
  frontend::noteInputFile(path);
  auto module = rt::Module::load(path.c_str(), /*verifyAll=*/false);
  if (module.failed()) {
    code = fail(static_cast<int>(module.status().code()), module.status().message());
    return nullptr;
  }
  return module.take();
}

std::vector<const rt::Module *> partsOf(const rt::Module &module) {
  if (!module.flow())
    return {&module};
  std::vector<const rt::Module *> parts;
  for (const auto &segment : module.segments())
    parts.push_back(segment.get());
  return parts;
}

std::vector<const schema::Program *> programsOf(const rt::Module &module, schema::Target target) {
  std::vector<const schema::Program *> programs;
  for (const rt::Module *part : partsOf(module))
    if (const schema::Program *program = part->program(target))
      programs.push_back(program);
  return programs;
}

int64_t weightBytes(const rt::Module &module) {
  std::set<std::pair<uint64_t, uint64_t>> seen; // several segments may read a weight
  int64_t bytes = 0;
  for (const rt::Module *part : partsOf(module))
    if (part->table().weights())
      for (const auto *weight : *part->table().weights())
        if (!module.flow() ||
            seen.emplace(weight->data()->offset(), weight->data()->bytes()).second)
          bytes += static_cast<int64_t>(weight->data()->bytes());
  return bytes;
}

const char *nameOf(schema::Target target) { return target == schema::Target::cpu ? "cpu" : "cuda"; }

/// "3.1 us", with two digits that say something.
static std::string timeOf(uint64_t nanoseconds) {
  char text[32];
  double us = double(nanoseconds) / 1000;
  snprintf(text, sizeof(text), us < 10 ? "%.1f us" : "%.0f us", us);
  return text;
}

std::string describePlan(const schema::Kernel &kernel) {
  if (!kernel.plan())
    return {};
  const schema::Plan &plan = *kernel.plan();
  std::string out = plan.schedule()->str();
  if (plan.numbers() && plan.numbers()->size())
    out += " (" + plan.numbers()->str() + ")";
  out += ", " + timeOf(plan.ns()) + " modelled";
  for (uint32_t i = 0; kernel.other_plans() && i < kernel.other_plans()->size(); ++i) {
    const schema::Plan &other = *kernel.other_plans()->Get(i);
    out += (i == 0 ? "; not " : ", ") + other.schedule()->str() + " " + timeOf(other.ns());
  }
  return out;
}

std::string linesOf(const schema::Kernel &kernel) {
  constexpr uint32_t kMostLines = 6;
  std::string text;
  uint32_t count = kernel.lines() ? kernel.lines()->size() : 0;
  uint32_t shown = count > kMostLines ? kMostLines - 1 : count;
  for (uint32_t i = 0; i < shown; ++i)
    text += (text.empty() ? "" : ", ") + kernel.lines()->Get(i)->str();
  return count > shown ? text + " and " + std::to_string(count - shown) + " more" : text;
}

static bool contains(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *list,
                     const std::string &name) {
  return list && std::any_of(list->begin(), list->end(),
                             [&](const auto *entry) { return entry->str() == name; });
}

/// `path` or a layer or block inside of it, which is written after a dot: "encoder" has
/// "encoder.fc".
static bool hasLayer(const schema::Kernel &kernel, const std::string &path) {
  return kernel.layers() &&
         std::any_of(kernel.layers()->begin(), kernel.layers()->end(), [&](const auto *layer) {
           return layer->str() == path || layer->str().starts_with(path + ".");
         });
}

/// Kernels that runs launch on every device: neither those of the load nor those of one GPU that
/// others have in another form.
static std::set<uint32_t> kernelsOfRuns(const schema::Program &program) {
  std::set<uint32_t> kernels;
  if (program.main())
    for (const auto *entry : *program.main())
      if (const auto *launch = entry->command_as_Launch())
        kernels.insert(launch->kernel());
  return kernels;
}

std::vector<const schema::Kernel *> findKernels(const schema::Program &program,
                                                const std::string &name) {
  std::vector<const schema::Kernel *> ofRuns, others;
  std::set<uint32_t> inRuns = kernelsOfRuns(program);
  for (uint32_t i = 0; program.kernels() && i < program.kernels()->size(); ++i) {
    const schema::Kernel *kernel = program.kernels()->Get(i);
    // The CUDA program prefixes its functions; people know the kernel by the name that the CPU's
    // table shows.
    if (kernel->name()->str() == name || kernel->name()->str() == "dlc_" + name)
      return {kernel};
    if (contains(kernel->ops(), name) || contains(kernel->lines(), name) || hasLayer(*kernel, name))
      (inRuns.count(i) ? ofRuns : others).push_back(kernel);
  }
  return ofRuns.empty() ? others : ofRuns;
}

std::string linesOf(const std::vector<const schema::Program *> &programs, const std::string &name) {
  for (const schema::Program *program : programs)
    for (uint32_t i = 0; program->kernels() && i < program->kernels()->size(); ++i)
      if (const schema::Kernel *kernel = program->kernels()->Get(i); kernel->name()->str() == name)
        return linesOf(*kernel);
  return {};
}

} // namespace dlc
