//===- PassTrace.cpp - What each pass left and how long it took ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/PassTrace.h"

#include "tools/driver/base/Output.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using Clock = std::chrono::steady_clock;

namespace dlc {

/// The outermost op round `op`: what a reader of a dump can feed back to the compiler.
static Operation *outermost(Operation *op) {
  while (Operation *parent = op->getParentOp())
    op = parent;
  return op;
}

namespace {
class Instrumentation final : public PassInstrumentation {
public:
  explicit Instrumentation(PassTrace &trace) : trace(trace) {}
  void runBeforePass(Pass *, Operation *) override { begin.push_back(Clock::now()); }
  void runAfterPass(Pass *pass, Operation *op) override { end(pass, op); }
  void runAfterPassFailed(Pass *pass, Operation *op) override { end(pass, op); }

private:
  void end(Pass *pass, Operation *op) {
    Clock::time_point started = begin.pop_back_val();
    if (pass->getArgument().empty()) // the adaptor that runs passes on nested ops
      return;
    trace.addStep(pass->getArgument(), started);
    trace.dump(op, pass->getArgument());
  }
  PassTrace &trace;
  SmallVector<Clock::time_point> begin;
};
} // namespace

std::unique_ptr<PassInstrumentation> PassTrace::makeInstrumentation() {
  return std::make_unique<Instrumentation>(*this);
}

void PassTrace::addStep(StringRef step, Clock::time_point begin) {
  steps.push_back(
      {phase, step.str(), std::chrono::duration<double, std::milli>(Clock::now() - begin).count()});
}

void PassTrace::dump(Operation *op, StringRef step) {
  if (folder.empty() || status != kOk)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  // With locations, so that kernels still know the model's lines where a compile goes on from here.
  outermost(op)->print(os, OpPrintingFlags().enableDebugInfo());
  os << '\n';
  std::string number = std::to_string(written++);
  std::string path = folder + "/" + std::string(number.size() < 2, '0') + number + "-" + phase +
                     "-" + step.str() + ".mlir";
  status = writeFile(path, text);
}

std::string PassTrace::timesAsJson() const {
  llvm::json::Array list;
  double total = 0;
  for (const StepTime &step : steps) {
    list.push_back(
        llvm::json::Object{{"phase", step.phase}, {"step", step.step}, {"ms", step.milliseconds}});
    total += step.milliseconds;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}\n", llvm::json::Value(llvm::json::Object{{"total_ms", total},
                                                                      {"steps", std::move(list)}}));
  return text;
}

} // namespace dlc
