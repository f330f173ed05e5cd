//===- KernelRoles.cpp - Which launch of a program a kernel is for ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/KernelRoles.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace dlc {

std::map<std::string, KernelRole> rolesOf(const schema::Program &program) {
  std::map<std::string, KernelRole> roles;
  if (!program.main())
    return roles;
  auto kernelOf = [&](const schema::Launch &launch) {
    return program.kernels()->Get(launch.kernel());
  };
  for (const auto *entry : *program.main()) {
    const schema::Launch *launch = entry->command_as_Launch();
    if (!launch)
      continue;
    llvm::StringRef name = kernelOf(*launch)->name()->c_str();
    if (program.target() == schema::Target::cuda)
      name.consume_front("dlc_");
    auto add = [&](const schema::Kernel *kernel) {
      roles.insert({kernel->name()->str(), {name.str(), kernel}});
    };
    add(kernelOf(*launch));
    for (uint32_t i = 0; launch->variants() && i < launch->variants()->size(); ++i)
      add(kernelOf(*launch->variants()->Get(i)->launch()));
  }
  return roles;
}

std::string planOf(const schema::Kernel &kernel) {
  if (!kernel.plan())
    return "";
  std::string plan = kernel.plan()->schedule()->str();
  if (kernel.plan()->numbers() && kernel.plan()->numbers()->size())
    plan += ":" + kernel.plan()->numbers()->str();
  std::replace(plan.begin(), plan.end(), ' ', ':');
  return plan;
}

} // namespace dlc
