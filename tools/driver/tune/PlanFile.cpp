//===- PlanFile.cpp - Plans of kernels that were measured ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/PlanFile.h"

#include "codegen/Passes.h"
#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using llvm::StringRef;

namespace dlc {

static constexpr llvm::StringLiteral kHeader = "dlc-plans 1";
static constexpr size_t kDigits = 16;

std::string planFileText(const std::vector<std::string> &remarks,
                         const std::vector<MeasuredPlan> &plans) {
  std::string text;
  for (const std::string &remark : remarks)
    text += "# " + remark + "\n";
  text += kHeader.str() + "\n";
  for (const MeasuredPlan &plan : plans)
    text += (plan.isOwn ? "# " : "") + plan.target + " " + plan.digest + " " + plan.plan +
            (plan.remark.empty() ? "" : "   # " + plan.remark) + "\n";
  return text;
}

namespace {
/// The lines of one file, with errors at their words.
class Reader {
public:
  explicit Reader(std::unique_ptr<llvm::MemoryBuffer> buffer) {
    text = buffer->getBuffer();
    sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  }
  std::optional<std::vector<MeasuredPlan>> read();

private:
  bool refuse(StringRef at, const llvm::Twine &message) {
    sources.PrintMessage(llvm::SMLoc::getFromPointer(at.begin()), llvm::SourceMgr::DK_Error,
                         message);
    return false;
  }
  bool readPlan(StringRef line, std::vector<MeasuredPlan> &plans);

  llvm::SourceMgr sources;
  StringRef text;
};
} // namespace

static bool isDigest(StringRef word) {
  return word.size() == kDigits &&
         llvm::all_of(word, [](char c) { return llvm::isDigit(c) || (c >= 'a' && c <= 'f'); });
}

bool Reader::readPlan(StringRef line, std::vector<MeasuredPlan> &plans) {
  llvm::SmallVector<StringRef, 4> words;
  llvm::SplitString(line, words, " \t\r");
  if (words.size() != 3)
    return refuse(words[std::min<size_t>(words.size() - 1, 3)],
                  "expected TARGET DIGEST PLAN, such as cpu 5b0c31f29ad44e07 windows");
  auto [target, digest, plan] = std::tuple(words[0], words[1], words[2]);
  StringRef schedule = plan.split(':').first;
  if (target != "cpu" && target != "cuda")
    return refuse(target, "expected the target of the kernel, cpu or cuda, got '" + target + "'");
  if (!isDigest(digest))
    return refuse(digest,
                  "expected the digest of a kernel, 16 hexadecimal digits, got '" + digest + "'");
  if (!codegen::hasSchedule(target, schedule))
    return refuse(schedule, "target " + target + " has no schedule '" + schedule +
                                "'; 'dlc tune' writes this file anew for this version of dlc");
  auto same = [&](const MeasuredPlan &other) {
    return other.target == target && other.digest == digest;
  };
  if (llvm::any_of(plans, same))
    return refuse(digest, "this kernel has a plan above already; expected one for each kernel");
  plans.push_back({target.str(), digest.str(), plan.str(), ""});
  return true;
}

std::optional<std::vector<MeasuredPlan>> Reader::read() {
  std::vector<MeasuredPlan> plans;
  bool hasHeader = false;
  for (StringRef rest = text; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    line = line.split('#').first.trim();
    if (line.empty())
      continue;
    if (!hasHeader && line != kHeader) {
      refuse(line, "expected '" + kHeader + "', which begins a file that 'dlc tune' wrote");
      return std::nullopt;
    }
    if (hasHeader && !readPlan(line, plans))
      return std::nullopt;
    hasHeader = true;
  }
  if (hasHeader)
    return plans;
  refuse(text, "expected '" + kHeader + "', which begins a file that 'dlc tune' wrote");
  return std::nullopt;
}

std::optional<std::vector<MeasuredPlan>> readPlanFile(const std::string &path, int &code) {
  frontend::noteInputFile(path);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    code = fail(kDevice, "cannot read '" + path + "': " + buffer.getError().message());
    return std::nullopt;
  }
  auto plans = Reader(std::move(*buffer)).read();
  if (!plans)
    code = kUsage;
  return plans;
}

} // namespace dlc
