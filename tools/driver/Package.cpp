//===- Package.cpp - What a model.bin says about itself --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/Package.h"

#include "tools/driver/Output.h"

namespace dlc {

std::shared_ptr<rt::Module> openPackage(const std::string &path, int &code) {
  auto module = rt::Module::load(path.c_str(), /*verifyAll=*/false);
  if (module.failed()) {
    code = fail(static_cast<int>(module.status().code()), module.status().message());
    return nullptr;
  }
  return module.take();
}

const schema::Program *programOf(const rt::Module &module, schema::Target target) {
  return module.program(target);
}

std::string linesOf(const schema::Kernel &kernel) {
  std::string text;
  if (kernel.lines())
    for (const auto *line : *kernel.lines())
      text += (text.empty() ? "" : ", ") + line->str();
  return text;
}

std::string linesOf(const schema::Program &program, const std::string &name) {
  if (program.kernels())
    for (const auto *kernel : *program.kernels())
      if (kernel->name()->str() == name)
        return linesOf(*kernel);
  return {};
}

} // namespace dlc
