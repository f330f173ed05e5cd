//===- InspectCommand.cpp - dlc inspect: what is in a compiled model ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/core/bind/Arena.h"
#include "runtime/cuda/driver/Architecture.h"
#include "runtime/cuda/kernels/Kernels.h"
#include "runtime/schema/KernelAbi.h"
#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/run/FlowText.h"
#include "tools/driver/run/InspectWeights.h"
#include "tools/driver/run/Package.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace {
struct InspectOptions {
  std::string model, source, choice;
  int64_t batch = 1;
  bool json = false;
};
} // namespace

static constexpr const char *kExamples =
    R"(Examples:
  dlc inspect model.bin             inputs, outputs, kernels, memory
  dlc inspect model.bin --source conv2d_relu      CUDA C++ of this kernel
  dlc inspect model.bin --json
  dlc inspect model.dl              layers, parameters, operations
  dlc inspect model.dl --batch 32 --json
  dlc inspect model.safetensors     names, dtypes, shapes and sizes; also .npz)";

namespace dlc {
namespace {

/// How many launches of a program use each kernel, at load and in each run.
struct LaunchCount {
  int64_t init = 0, main = 0;
  std::string product;            // "N*4096 x 512 by 512 x 2048", where cuBLASLt may compute it ...
  std::vector<std::string> calls; // ... and where it does so unasked: "on sm_90, for N = 512..4096"
  std::string insteadOf;          // of a variant: the kernel whose place it takes ...
  std::vector<std::string> stages; // of a chain: the kernels in whose place it is launched ...
  std::string where;               // ... "on sm_90a", "for N*T = 9..64", or both
  std::optional<int64_t> shared; // bytes of shared memory of a block, that of the launch with them

  std::string stagesAsText() const {
    std::string text;
    for (const std::string &stage : stages)
      text += (text.empty() ? "" : ", ") + rt::quoted(stage);
    return text;
  }
  std::string callsAsText() const {
    std::string text;
    for (const std::string &call : calls)
      text += (text.empty() ? "" : "; ") + call;
    return text;
  }
};

struct ProgramFacts {
  std::map<uint32_t, LaunchCount> launches;
  int64_t copies = 0, codeBytes = 0;
  std::map<std::string, int64_t> cubinBytes; // by architecture
};

} // namespace

/// The size that the name of a symbol belongs to.
static int64_t sizeAt(const schema::Symbol &symbol, int64_t value) {
  return symbol.step() * value + symbol.offset();
}

/// "4096 x 512 by 512 x 2048, 12 times", with symbols where shapes are open.
static std::string describeProduct(const rt::Module &module, const schema::Product &product) {
  auto print = [&](uint32_t expression) { return module.expressions().print(expression); };
  std::string depth = print(product.depth()), batch = print(product.batch());
  return print(product.rows()) + " x " + depth + " by " + depth + " x " + print(product.columns()) +
         (batch == "1" ? "" : ", " + batch + " times");
}

/// "on sm_90a, for N*T = 9..64": a GPU and limits of shapes, as far as there are any.
static std::string describeWhere(const rt::Module &module, const std::string &gpu,
                                 const flatbuffers::Vector<const schema::Limits *> *all) {
  std::string where = gpu.empty() ? "" : "on " + gpu;
  for (uint32_t i = 0; all && i < all->size(); ++i) {
    const schema::Limits &limits = *all->Get(i);
    where += (where.empty() ? "for "
              : i == 0      ? ", for "
                            : " and ") +
             module.expressions().print(limits.of()) + " = " + std::to_string(limits.least()) +
             (limits.least() == limits.most() ? "" : ".." + std::to_string(limits.most()));
  }
  return where;
}

static std::string describeVariant(const rt::Module &module, const schema::Variant &variant) {
  return describeWhere(module, variant.gpu() ? "sm_" + std::to_string(variant.gpu()) + "a" : "",
                       variant.limits());
}

/// Where the library computes the product unasked.
static std::vector<std::string> describeCalls(const rt::Module &module,
                                              const schema::Product &product) {
  std::vector<std::string> calls;
  if (product.calls())
    for (const schema::ProductCall *call : *product.calls()) {
      std::string where = describeWhere(
          module, call->gpu() ? "sm_" + std::to_string(call->gpu()) : "", call->limits());
      calls.push_back(where.empty() ? "always" : where);
    }
  return calls;
}

/// Nullopt on a CPU, where launches have no blocks.
static std::optional<int64_t> sharedBytesOf(const rt::Module &module,
                                            const schema::Program &program,
                                            const schema::Launch &launch) {
  if (program.target() != schema::Target::cuda)
    return std::nullopt;
  std::optional<int64_t> dynamic = module.expressions().constant(launch.scratch_bytes());
  return int64_t(program.kernels()->Get(launch.kernel())->static_shared_bytes()) +
         dynamic.value_or(0);
}

static ProgramFacts factsOf(const rt::Module &module, const schema::Program &program) {
  ProgramFacts facts;
  auto count = [&](const auto *commands, bool init) {
    if (!commands)
      return;
    for (uint32_t at = 0; at < commands->size(); ++at) {
      if (const auto *launch = commands->Get(at)->command_as_Launch()) {
        LaunchCount &count = facts.launches[launch->kernel()];
        ++(init ? count.init : count.main);
        count.shared = sharedBytesOf(module, program, *launch);
        if (launch->product()) {
          count.product = describeProduct(module, *launch->product());
          count.calls = describeCalls(module, *launch->product());
        }
        for (uint32_t i = 0; launch->variants() && i < launch->variants()->size(); ++i) {
          const schema::Variant &variant = *launch->variants()->Get(i);
          LaunchCount &other = facts.launches[variant.launch()->kernel()];
          other.insteadOf = program.kernels()->Get(launch->kernel())->name()->str();
          other.where = describeVariant(module, variant);
          other.shared = sharedBytesOf(module, program, *variant.launch());
        }
        for (uint32_t i = 0; launch->chains() && i < launch->chains()->size(); ++i) {
          const schema::Chain &chain = *launch->chains()->Get(i);
          LaunchCount &other = facts.launches[chain.launch()->kernel()];
          for (uint32_t k = 0; k < chain.launches(); ++k)
            other.stages.push_back(program.kernels()
                                       ->Get(commands->Get(at + k)->command_as_Launch()->kernel())
                                       ->name()
                                       ->str());
          other.where = chain.gpu() ? "on sm_" + std::to_string(chain.gpu()) : "on each GPU";
          other.shared = sharedBytesOf(module, program, *chain.launch());
        }
      } else {
        ++facts.copies;
      }
    }
  };
  count(program.init(), true);
  count(program.main(), false);
  if (program.cpu_images())
    for (const auto *image : *program.cpu_images())
      facts.codeBytes += static_cast<int64_t>(image->code()->bytes());
  if (program.cuda_sources())
    for (const auto *source : *program.cuda_sources())
      if (source->cubins())
        for (const auto *cubin : *source->cubins()) {
          cuda::Architecture arch = {static_cast<int>(cubin->arch()), cubin->variant()};
          facts.cubinBytes[arch.name()] += static_cast<int64_t>(cubin->data()->bytes());
        }
  return facts;
}

/// Sum of the sizes of the program's buffers of one storage: a number, or where shapes are open
/// "N*4096 + 40".
static std::string sizeOf(const rt::Module &module, const schema::Program &program,
                          schema::Storage storage) {
  int64_t constant = 0;
  std::string open;
  if (program.buffers())
    for (const auto *buffer : *program.buffers()) {
      if (buffer->storage() != storage)
        continue;
      if (auto bytes = module.expressions().constant(buffer->bytes()))
        constant += *bytes;
      else
        open += (open.empty() ? "" : " + ") + module.expressions().print(buffer->bytes());
    }
  if (open.empty())
    return rt::byteCount(static_cast<uint64_t>(constant));
  return open + (constant ? " + " + std::to_string(constant) : "") + " bytes, before reuse";
}

/// Where the buffers of a run share memory, if their sizes are known before shapes are bound.
struct ArenaSize {
  int64_t bytes, alive; // that it takes, and that are in use at the same time, at most
};
static std::optional<ArenaSize> arenaOf(const rt::Module &module, const schema::Program &program) {
  std::vector<rt::Lifetime> requests;
  if (program.buffers())
    for (const auto *buffer : *program.buffers()) {
      if (buffer->storage() != schema::Storage::arena)
        continue;
      auto bytes = module.expressions().constant(buffer->bytes());
      if (!bytes)
        return std::nullopt;
      requests.push_back({*bytes, buffer->first_use(), buffer->last_use()});
    }
  auto placement = rt::placeBuffers(requests, abi::kBufferAlignment);
  if (!placement)
    return std::nullopt;
  return ArenaSize{placement->bytes, rt::mostAlive(requests, abi::kBufferAlignment)};
}

static std::string describeArena(const rt::Module &module, const schema::Program &program) {
  std::optional<ArenaSize> arena = arenaOf(module, program);
  if (!arena)
    return sizeOf(module, program, schema::Storage::arena);
  return rt::byteCount(static_cast<uint64_t>(arena->bytes));
}

static void describeProgram(const rt::Module &module, const schema::Program &program,
                            std::string &out) {
  ProgramFacts facts = factsOf(module, program);
  out += std::string("\nProgram for ") + nameOf(program.target()) + "\n";
  if (program.cpu_images())
    for (const auto *image : *program.cpu_images())
      out +=
          "  code for " + image->isa()->str() + ": " + rt::byteCount(image->code()->bytes()) + "\n";
  for (const auto &[arch, bytes] : facts.cubinBytes)
    out += "  code for " + arch + ": " + rt::byteCount(static_cast<uint64_t>(bytes)) + "\n";
  out += "  memory: weights " + rt::byteCount(static_cast<uint64_t>(weightBytes(module))) +
         ", made at load " + sizeOf(module, program, schema::Storage::persistent) +
         ", intermediate " + describeArena(module, program) + "\n";
  out += "  kernels (launches in a run + at load)\n";
  uint32_t index = 0;
  if (program.kernels())
    for (const auto *kernel : *program.kernels()) {
      LaunchCount count = facts.launches[index++];
      char line[160];
      snprintf(line, sizeof(line), "    %-32s %-12s %2lld + %-2lld  ",
               rt::quoted(kernel->name()->str()).c_str(), kernel->kind()->c_str(),
               static_cast<long long>(count.main), static_cast<long long>(count.init));
      out += line + linesOf(*kernel) + "\n";
      if (std::string plan = describePlan(*kernel); !plan.empty())
        out += "      plan: " + plan + "\n";
      if (!count.product.empty())
        out += "      cuBLASLt may compute it: " + count.product + "; " +
               (count.calls.empty() ? "with --cublas alone" : "it does " + count.callsAsText()) +
               "\n";
      if (!count.insteadOf.empty())
        out += "      in place of " + rt::quoted(count.insteadOf) + " " + count.where + "\n";
      if (!count.stages.empty())
        out += "      in place of " + count.stagesAsText() + " " + count.where + "\n";
    }
  if (facts.copies)
    out += "    copies: " + std::to_string(facts.copies) + "\n";
}

/// "Segment 2: x f32[N,4] -> y f32[N]".
static std::string describeSegment(const rt::Module &segment, size_t index) {
  std::string out = "Segment " + std::to_string(index) + ":";
  auto values = [&](const auto *list, size_t count) {
    for (uint32_t i = 0; i < count; ++i)
      out += (i ? ", " : " ") + list->Get(i)->name()->str() + " " + segment.describe(*list->Get(i));
  };
  values(segment.table().inputs(), segment.table().inputs() ? segment.table().inputs()->size() : 0);
  for (uint32_t i = 0; segment.table().given() && i < segment.table().given()->size(); ++i)
    out += std::string(i ? ", " : " with ") +
           segment.table().symbols()->Get(segment.table().given()->Get(i))->name()->str();
  out += " ->";
  values(segment.table().outputs(), segment.numOutputs());
  return out + "\n";
}

static std::string describe(const rt::Module &module) {
  const schema::Module &table = module.table();
  std::string out = "Model " + rt::quoted(table.model()->str()) + ", " +
                    rt::byteCount(module.fileBytes()) + ", by " + table.producer()->str() + "\n";
  if (table.precision() != schema::DType::f32)
    out += std::string("Precision: values of f32 may be stored in ") +
           rt::nameOf(table.precision()) + "\n";
  auto values = [&](const char *title, const auto *list, size_t count) {
    out += title;
    for (uint32_t i = 0; i < count; ++i)
      out += "  " + list->Get(i)->name()->str() + ": " + module.describe(*list->Get(i)) + "\n";
  };
  values("Inputs\n", table.inputs(), table.inputs() ? table.inputs()->size() : 0);
  values("Outputs\n", table.outputs(), module.numOutputs());
  if (table.states() && table.states()->size())
    values("States\n", table.states(), table.states()->size());
  if (table.symbols() && table.symbols()->size()) {
    out += "Symbolic dims\n";
    for (const auto *symbol : *table.symbols())
      out += "  " + symbol->name()->str() + " = " + std::to_string(sizeAt(*symbol, symbol->min())) +
             ".." + std::to_string(sizeAt(*symbol, symbol->max())) +
             (symbol->step() > 1 ? " step " + std::to_string(symbol->step()) : "") +
             (symbol->is_derived() ? ", derived: " + module.expressions().print(symbol->derived())
                                   : "") +
             (symbol->read() ? ", told by the run" : "") +
             (symbol->counted()
                  ? ", counted by the run: at most " + module.expressions().print(symbol->most())
                  : "") +
             (symbol->why() && symbol->why()->size() ? ": " + symbol->why()->str() : "") + "\n";
  }
  if (module.flow()) {
    out += "Flow\n";
    for (const std::string &line : describeFlow(module))
      out += "  " + line + "\n";
    out += "Weights: " + rt::byteCount(static_cast<uint64_t>(weightBytes(module))) + "\n";
  }
  std::vector<const rt::Module *> parts = partsOf(module);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (module.flow())
      out += "\n" + describeSegment(*parts[i], i);
    for (const auto *program : *parts[i]->table().programs())
      describeProgram(*parts[i], *program, out);
  }
  return out;
}

/// Of each CUDA source, what the cache of compiled kernels and the ledger of verified ones know it
/// by.
static std::vector<std::string> identitiesOf(const rt::Module &module,
                                             const schema::Program &program) {
  std::vector<std::string> identities;
  if (program.target() != schema::Target::cuda)
    return identities;
  cuda::KernelDigest digest;
  for (const cuda::KernelText &text : cuda::kernelTexts(module.table(), program))
    identities.push_back(digest.of(text));
  return identities;
}

/// One of the module's own programs, as an object.
static void writeProgram(const rt::Module &module, const schema::Program *program, Json &json) {
  ProgramFacts facts = factsOf(module, *program);
  json.beginObject()
      .string("target", nameOf(program->target()))
      .integer("code_bytes", facts.codeBytes);
  json.beginArray("architectures");
  for (const auto &[arch, bytes] : facts.cubinBytes)
    json.string(arch);
  json.endArray();
  json.string("persistent", sizeOf(module, *program, schema::Storage::persistent));
  json.string("arena", describeArena(module, *program));
  if (std::optional<ArenaSize> arena = arenaOf(module, *program))
    json.integer("arena_bytes", arena->bytes).integer("arena_in_use_bytes", arena->alive);
  json.beginArray("kernels");
  uint32_t index = 0;
  std::vector<std::string> identities = identitiesOf(module, *program);
  if (program->kernels())
    for (const auto *kernel : *program->kernels()) {
      LaunchCount count = facts.launches[index++];
      json.beginObject()
          .string("name", kernel->name()->str())
          .string("kind", kernel->kind()->str());
      if (!identities.empty())
        json.string("text_sha256", identities[kernel->cuda_source()]);
      if (const schema::Plan *plan = kernel->plan()) {
        auto fields = [&](const schema::Plan &one) {
          json.string("schedule", one.schedule()->str())
              .integer("modelled_ns", static_cast<int64_t>(one.ns()));
        };
        json.beginObject("plan");
        fields(*plan);
        json.string("numbers", plan->numbers() ? plan->numbers()->str() : "").endObject();
        json.beginArray("other_plans");
        for (uint32_t i = 0; kernel->other_plans() && i < kernel->other_plans()->size(); ++i) {
          json.beginObject();
          fields(*kernel->other_plans()->Get(i));
          json.endObject();
        }
        json.endArray();
      }
      if (!count.product.empty())
        json.string("cublaslt", count.product).string("cublaslt_unasked", count.callsAsText());
      if (!count.insteadOf.empty())
        json.string("in_place_of", count.insteadOf).string("where", count.where);
      if (!count.stages.empty()) {
        json.string("where", count.where).beginArray("stages");
        for (const std::string &stage : count.stages)
          json.string(stage);
        json.endArray();
      }
      if (count.shared)
        json.integer("shared_bytes", *count.shared);
      json.integer("launches", count.main)
          .integer("launches_at_load", count.init)
          .beginArray("lines");
      auto strings = [&](const auto *list) {
        for (uint32_t i = 0; list && i < list->size(); ++i)
          json.string(list->Get(i)->str());
        json.endArray();
      };
      strings(kernel->lines());
      json.beginArray("layers");
      strings(kernel->layers());
      json.beginArray("ops");
      strings(kernel->ops());
      json.endObject();
    }
  json.endArray().endObject();
}

static void writePrograms(const rt::Module &module, Json &json) {
  json.beginArray("programs");
  if (module.table().programs())
    for (const auto *program : *module.table().programs())
      writeProgram(module, program, json);
  json.endArray();
}

static std::string describeJson(const rt::Module &module) {
  const schema::Module &table = module.table();
  Json json;
  json.beginObject()
      .string("model", table.model()->str())
      .string("producer", table.producer()->str())
      .string("precision", rt::nameOf(table.precision()));
  json.integer("file_bytes", static_cast<int64_t>(module.fileBytes()))
      .integer("weight_bytes", weightBytes(module));
  auto values = [&](const char *key, const rt::Module &of, const auto *list, size_t count) {
    json.beginArray(key);
    for (uint32_t i = 0; i < count; ++i)
      json.beginObject()
          .string("name", list->Get(i)->name()->str())
          .string("type", of.describe(*list->Get(i)))
          .endObject();
    json.endArray();
  };
  auto sizeOf = [](const auto *list) -> size_t { return list ? list->size() : 0; };
  values("inputs", module, table.inputs(), sizeOf(table.inputs()));
  values("outputs", module, table.outputs(), module.numOutputs());
  values("states", module, table.states(), sizeOf(table.states()));
  json.beginArray("symbols");
  if (table.symbols())
    for (const auto *symbol : *table.symbols()) {
      json.beginObject()
          .string("name", symbol->name()->str())
          .integer("min", sizeAt(*symbol, symbol->min()))
          .integer("max", sizeAt(*symbol, symbol->max()));
      if (symbol->step() > 1)
        json.integer("step", symbol->step());
      if (symbol->is_derived())
        json.string("derived", module.expressions().print(symbol->derived()));
      if (symbol->why() && symbol->why()->size())
        json.string("why", symbol->why()->str());
      if (symbol->read())
        json.string("known", "during the run");
      if (symbol->counted())
        json.string("counted_up_to", module.expressions().print(symbol->most()));
      json.endObject();
    }
  json.endArray();
  writePrograms(module, json);
  if (module.flow()) {
    json.beginArray("flow");
    for (const std::string &line : describeFlow(module))
      json.string(line);
    json.endArray().beginArray("segments");
    for (const rt::Module *part : partsOf(module)) {
      json.beginObject();
      values("inputs", *part, part->table().inputs(), sizeOf(part->table().inputs()));
      values("outputs", *part, part->table().outputs(), part->numOutputs());
      writePrograms(*part, json);
      json.endObject();
    }
    json.endArray();
  }
  json.endObject();
  return json.take();
}

/// The CUDA text of a kernel, by its name or by that of something that it computes; an ExitCode.
static int printSource(const rt::Module &module, const std::string &name) {
  std::vector<const schema::Program *> programs = programsOf(module, schema::Target::cuda);
  if (programs.empty())
    return fail(kUsage, "the package has no CUDA program; compile with --target cuda or cpu,cuda");
  std::vector<const schema::Kernel *> found;
  std::string source;
  for (const schema::Program *program : programs)
    for (const schema::Kernel *kernel : findKernels(*program, name)) {
      found.push_back(kernel);
      source = program->cuda_sources()->Get(kernel->cuda_source())->text()->str();
    }
  if (found.size() == 1)
    return finishOutput(source);
  std::string names;
  auto add = [&](const schema::Kernel *kernel) {
    names += (names.empty() ? "" : ", ") + kernel->name()->str();
  };
  if (!found.empty()) {
    std::for_each(found.begin(), found.end(), add);
    return fail(kUsage, std::to_string(found.size()) + " kernels compute " + rt::quoted(name) +
                            "; name one of them: " + names);
  }
  for (const schema::Program *program : programs)
    if (program->kernels())
      std::for_each(program->kernels()->begin(), program->kernels()->end(), add);
  return fail(kUsage, "the package has no kernel, op, layer or node " + rt::quoted(name) +
                          "; its kernels are: " + names);
}

static int inspect(const InspectOptions &options) {
  int code = kOk;
  auto module = openPackage(options.model, code);
  if (!module)
    return code;
  if (!options.source.empty())
    return printSource(*module, options.source);
  return finishOutput(options.json ? describeJson(*module) : describe(*module));
}

} // namespace dlc

void dlc::addInspectCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command = app.add_subcommand("inspect", "Show what is in a model, compiled or not");
  setExamples(*command, kExamples);
  command->add_option("model", options->model, "model.bin, .dl, .safetensors or .npz")->required();
  const char *group = "Input and output";
  auto *source =
      setHelp(command->add_option("--source", options->source, "Print the CUDA C++ of this kernel"),
              group, "NAME", R"(A kernel, or an op, layer or ONNX node that one kernel computes.)");
  setHelp(command->add_flag("--json", options->json, "Print JSON"), group, "")->excludes(source);
  setHelp(command->add_option("--batch", options->batch, ".dl: size of symbolic dims [1]")
              ->check(checkPositive, "POSITIVE"),
          group, "N", R"(Operations are counted for this size.)")
      ->excludes(source);
  setHelp(command->add_option("--model", options->choice,
                              ".dl: which model of the file, if it has several"),
          group, "NAME")
      ->excludes(source);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] {
      bool isText = options->model.ends_with(".dl");
      if (!options->source.empty() && (isText || isWeightFile(options->model)))
        return fail(kUsage, "--source prints a kernel of a compiled model; '" + options->model +
                                "' holds " + (isText ? "a model's text" : "weights") +
                                ", expected a model.bin of 'dlc compile'");
      if (isText)
        return compiler.inspect({options->model, options->choice, options->batch, options->json});
      if (isWeightFile(options->model))
        return inspectWeights(options->model, options->json);
      return inspect(*options);
    };
  });
}
