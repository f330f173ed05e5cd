//===- ExplainCommand.cpp - dlc explain: why a compiled model runs as it does -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "runtime/core/Text.h"
#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/run/FlowText.h"
#include "tools/driver/run/Package.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>

static constexpr const char *kExamples =
    R"(Prints for each kernel: the lines of the model that it computes, its plan, the
plans that were slower by estimate ('dlc compile --force-plan' takes one), the
tensors that are not row-major, why it converts a layout, and why it was not
fused with the kernels whose values it reads.

Examples:
  dlc explain model.bin
  dlc explain model.bin --target cuda
  dlc explain model.bin --node layer4.0.conv1
  dlc explain model.bin --json)";

namespace dlc {
namespace {

struct ExplainOptions {
  std::string model, node, target;
  bool json = false;
};

/// Why a kernel reads what another one writes; launches of one kernel often have the same reasons.
struct Reason {
  uint32_t writer;
  std::string reader, producer, why, change;
  int64_t launches = 0;
};

struct Explained {
  const schema::Kernel *kernel = nullptr;
  int64_t launches = 0; // in a run
  std::vector<Reason> reasons;
  std::string copied;  // why it copies the state that it updates
  std::string chain;   // the kernel that takes the place of its launch and of others ...
  std::string where;   // ... " on sm_90" ...
  int64_t chained = 0; // ... of so many of the launches
};

} // namespace

/// The kernels of a run, in the order of the program, by their numbers.
static std::vector<std::pair<uint32_t, Explained>> explain(const schema::Program &program) {
  std::vector<std::pair<uint32_t, Explained>> kernels;
  std::string chain, where; // of this launch ...
  uint32_t left = 0;        // ... and of so many after it
  for (uint32_t at = 0; program.main() && at < program.main()->size(); ++at) {
    const schema::Launch *launch = program.main()->Get(at)->command_as_Launch();
    if (!launch)
      continue;
    auto found = std::find_if(kernels.begin(), kernels.end(),
                              [&](const auto &known) { return known.first == launch->kernel(); });
    if (found == kernels.end())
      found = kernels.insert(kernels.end(), {launch->kernel(), {}});
    Explained &explained = found->second;
    explained.kernel = program.kernels()->Get(launch->kernel());
    ++explained.launches;
    if (launch->copied())
      explained.copied = launch->copied()->str();
    if (launch->chains() && launch->chains()->size() > 0) {
      const schema::Chain &first = *launch->chains()->Get(0);
      left = first.launches();
      chain = program.kernels()->Get(first.launch()->kernel())->name()->str();
      where = first.gpu() ? " on sm_" + std::to_string(first.gpu()) : "";
    }
    if (left > 0) {
      explained.chain = chain;
      ++explained.chained;
      explained.where = where;
      --left;
    }
    for (uint32_t i = 0; launch->edges() && i < launch->edges()->size(); ++i) {
      const schema::Edge &edge = *launch->edges()->Get(i);
      auto same = [&](const Reason &reason) {
        return reason.writer == edge.writer() && reason.reader == edge.reader()->str() &&
               reason.producer == edge.producer()->str() && reason.why == edge.why()->str();
      };
      auto known = std::find_if(explained.reasons.begin(), explained.reasons.end(), same);
      if (known == explained.reasons.end())
        known = explained.reasons.insert(
            explained.reasons.end(),
            {edge.writer(), edge.reader()->str(), edge.producer()->str(), edge.why()->str(),
             edge.change() ? edge.change()->str() : ""}); // older compilers wrote none
      ++known->launches;
    }
  }
  return kernels;
}

/// Keeps the kernels that compute `node`, and of others what they read of these.
static void keepNode(const schema::Program &program, const std::string &node,
                     std::vector<std::pair<uint32_t, Explained>> &kernels) {
  std::vector<const schema::Kernel *> wanted = findKernels(program, node);
  auto isWanted = [&](const schema::Kernel *kernel) {
    return std::find(wanted.begin(), wanted.end(), kernel) != wanted.end();
  };
  for (auto &[number, explained] : kernels)
    if (!isWanted(explained.kernel))
      std::erase_if(explained.reasons, [&](const Reason &reason) {
        return !isWanted(program.kernels()->Get(reason.writer));
      });
  std::erase_if(kernels, [&](const auto &entry) {
    return !isWanted(entry.second.kernel) && entry.second.reasons.empty();
  });
}

static uint32_t sizeOf(const auto *list) { return list ? list->size() : 0; }

static std::string timesOf(int64_t count) {
  return count == 1 ? "1 launch" : std::to_string(count) + " launches";
}

/// The end of a line: why something is so, and what would change it.
static std::string describeReason(const std::string &why, const std::string &change) {
  return ": " + why + (change.empty() ? "" : "; what would change it: " + change) + "\n";
}

static void describeProgram(const schema::Program &program,
                            const std::vector<std::pair<uint32_t, Explained>> &kernels,
                            std::string &out) {
  out += std::string(out.empty() ? "" : "\n") + "Program for " + nameOf(program.target()) + "\n";
  for (const auto &[number, explained] : kernels) {
    out += "  " + rt::quoted(explained.kernel->name()->str()) + ", " + timesOf(explained.launches) +
           ": " + linesOf(*explained.kernel) + "\n";
    if (std::string plan = describePlan(*explained.kernel); !plan.empty())
      out += "    plan: " + plan + "\n";
    for (uint32_t i = 0, count = sizeOf(explained.kernel->layouts()); i < count; ++i)
      out += (i == 0 ? "    layout: " : ", ") + explained.kernel->layouts()->Get(i)->str() +
             (i + 1 == count ? "\n" : "");
    for (uint32_t i = 0; i < sizeOf(explained.kernel->converts()); ++i) {
      const schema::Convert &convert = *explained.kernel->converts()->Get(i);
      out += "    converts " + convert.tensor()->str() + " from " + convert.from()->str() + " to " +
             convert.to()->str() + describeReason(convert.why()->str(), convert.change()->str());
    }
    for (const Reason &reason : explained.reasons) {
      out += "    '" + reason.reader + "' is not fused with '" + reason.producer + "' of " +
             rt::quoted(program.kernels()->Get(reason.writer)->name()->str());
      if (reason.launches != explained.launches)
        out += ", " + timesOf(reason.launches);
      out += describeReason(reason.why, reason.change);
    }
    if (!explained.chain.empty())
      out += "    is launched with others as " + rt::quoted(explained.chain) + explained.where +
             (explained.chained == explained.launches ? "" : ", " + timesOf(explained.chained)) +
             "\n";
    if (!explained.copied.empty())
      out += "    copies the state that it updates: " + explained.copied + "\n";
  }
}

/// Why a model with a flow is cut.
static std::string describeCutting(const rt::Module &module) {
  std::string out = "The model is cut into " + std::to_string(module.segments().size()) +
                    (module.segments().size() == 1 ? " segment" : " segments") + ", because\n";
  for (const std::string &reason : describeCuts(module))
    out += "  " + reason + "\n";
  return out;
}

/// `segment`: of a model that is cut, else negative.
static void writeJson(const schema::Program &program,
                      const std::vector<std::pair<uint32_t, Explained>> &kernels, int64_t segment,
                      Json &json) {
  auto strings = [&](const char *key, const auto *list) {
    json.beginArray(key);
    for (uint32_t i = 0; list && i < list->size(); ++i)
      json.string(list->Get(i)->str());
    json.endArray();
  };
  auto writePlan = [&](const schema::Plan &plan) {
    json.string("schedule", plan.schedule()->str())
        .string("numbers", plan.numbers() ? plan.numbers()->str() : "")
        .integer("modelled_ns", static_cast<int64_t>(plan.ns()))
        .endObject();
  };
  json.beginObject();
  if (segment >= 0)
    json.integer("segment", segment);
  json.string("target", nameOf(program.target())).beginArray("kernels");
  for (const auto &[number, explained] : kernels) {
    const schema::Kernel &kernel = *explained.kernel;
    json.beginObject()
        .string("name", kernel.name()->str())
        .string("kind", kernel.kind()->str())
        .integer("launches", explained.launches);
    strings("lines", kernel.lines());
    strings("layers", kernel.layers());
    strings("ops", kernel.ops());
    strings("layouts", kernel.layouts());
    json.beginArray("converts");
    for (uint32_t i = 0; i < sizeOf(kernel.converts()); ++i) {
      const schema::Convert &convert = *kernel.converts()->Get(i);
      json.beginObject()
          .string("tensor", convert.tensor()->str())
          .string("from", convert.from()->str())
          .string("to", convert.to()->str())
          .string("why", convert.why()->str())
          .string("change", convert.change()->str())
          .endObject();
    }
    json.endArray();
    if (kernel.plan()) {
      json.beginObject("plan");
      writePlan(*kernel.plan());
    }
    json.beginArray("other_plans");
    for (uint32_t i = 0; kernel.other_plans() && i < kernel.other_plans()->size(); ++i) {
      json.beginObject();
      writePlan(*kernel.other_plans()->Get(i));
    }
    json.endArray().beginArray("not_fused");
    for (const Reason &reason : explained.reasons)
      json.beginObject()
          .string("reader", reason.reader)
          .string("producer", reason.producer)
          .string("kernel", program.kernels()->Get(reason.writer)->name()->str())
          .string("why", reason.why)
          .string("change", reason.change)
          .integer("launches", reason.launches)
          .endObject();
    json.endArray();
    if (!explained.chain.empty())
      json.string("chain", explained.chain);
    if (!explained.copied.empty())
      json.string("copies_state", explained.copied);
    json.endObject();
  }
  json.endArray().endObject();
}

static int explain(const ExplainOptions &options) {
  int code = kOk;
  auto module = openPackage(options.model, code);
  if (!module)
    return code;
  std::string text;
  Json json;
  json.beginObject().string("model", module->table().model()->str()).beginArray("programs");
  size_t programs = 0, found = 0;
  std::vector<const rt::Module *> parts = partsOf(*module);
  if (module->flow())
    text = describeCutting(*module);
  for (size_t part = 0; part < parts.size(); ++part) {
    std::string ofPart;
    for (const auto *program : *parts[part]->table().programs()) {
      if (!options.target.empty() && options.target != nameOf(program->target()))
        continue;
      ++programs;
      auto kernels = explain(*program);
      if (!options.node.empty())
        keepNode(*program, options.node, kernels);
      found += kernels.size();
      if (!module->flow() || options.node.empty() || !kernels.empty())
        describeProgram(*program, kernels, ofPart);
      writeJson(*program, kernels, module->flow() ? static_cast<int64_t>(part) : -1, json);
    }
    if (module->flow() && !ofPart.empty())
      text += "\nSegment " + std::to_string(part) + "\n";
    text += ofPart;
  }
  json.endArray();
  if (module->flow()) {
    json.beginArray("cut_because");
    for (const std::string &reason : describeCuts(*module))
      json.string(reason);
    json.endArray();
  }
  json.endObject();
  if (programs == 0)
    return fail(kUsage, "the package has no program for " + options.target +
                            "; compile with --target cpu,cuda");
  if (found == 0 && !options.node.empty())
    return fail(kUsage, "no kernel of a run computes " + rt::quoted(options.node) +
                            "; 'dlc inspect' lists the kernels with their lines, --json their "
                            "layers and ops");
  return finishOutput(options.json ? json.take() : text);
}

} // namespace dlc

void dlc::addExplainCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App *command =
      app.add_subcommand("explain", "Say why a compiled model runs by these kernels and plans");
  setExamples(*command, kExamples);
  command->add_option("model", options->model, "The compiled model, model.bin")->required();

  const char *group = "Input and output";
  setHelp(command->add_option("--node", options->node, "Only kernels of this layer, op or line"),
          group, "NAME",
          R"(A layer, an op, an ONNX node or a line, such as layer4.0.conv1. Also says why
readers of its values were not fused with it.)");
  setHelp(command->add_option("--target", options->target, "cpu or cuda [both]")
              ->check(checkOneOf({"cpu", "cuda"})),
          group, "TARGET");
  setHelp(command->add_flag("--json", options->json, "Print JSON"), group, "");
  command->callback([&action, options] { action = [options] { return explain(*options); }; });
}
