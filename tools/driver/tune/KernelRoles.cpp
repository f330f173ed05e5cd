//===- KernelRoles.cpp - Which launch of a program a kernel is for ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/KernelRoles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

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

std::vector<std::string> schedulesOf(const std::map<std::string, KernelRole> &roles,
                                     const std::string &name, double hopeless) {
  std::map<std::string, uint64_t> estimates; // ns by schedule
  auto add = [&](const schema::Plan &plan) {
    auto [known, isNew] = estimates.insert({plan.schedule()->str(), plan.ns()});
    known->second = std::min(known->second, plan.ns());
  };
  for (const auto &[own, role] : roles) {
    if (role.launch != name)
      continue;
    if (role.kernel->plan())
      add(*role.kernel->plan());
    for (uint32_t i = 0; role.kernel->other_plans() && i < role.kernel->other_plans()->size(); ++i)
      add(*role.kernel->other_plans()->Get(i));
  }
  std::vector<std::pair<uint64_t, std::string>> order;
  for (const auto &[schedule, ns] : estimates)
    order.emplace_back(ns, schedule);
  llvm::sort(order);
  std::vector<std::string> schedules;
  for (const auto &[ns, schedule] : order)
    if (double(ns) <= hopeless * double(order.front().first))
      schedules.push_back(schedule);
  return schedules;
}

} // namespace dlc
