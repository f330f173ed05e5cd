//===- CommandLine.cpp - dlc's subcommands ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include "frontend/Spelling.h"
#include "runtime/include/dlc/runtime.h"
#include "tools/driver/base/ExitCode.h"
#include "tools/driver/base/Output.h"

#include <CLI/CLI.hpp>

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

static constexpr const char *kFooter = R"(Examples:
  dlc check model.dl
  dlc compile model.dl -o model.bin
  dlc run model.bin --input x=@x.npy --output y=@y.npy
  dlc bench model.bin
  dlc explain model.bin --node layer4.0.conv1

'dlc COMMAND --help' lists the options of a command, 'dlc help COMMAND' shows
examples, 'dlc help COMMAND --NAME' explains an option.

Exit codes: 0 ok, 1 error in the model, 2 usage, 3 unsupported, 4 accuracy check
failed, 5 device, runtime or I/O, 6 damaged or incompatible file, 70 internal
error.)";

void dlc::addOnnxOptions(CLI::App &command, std::vector<std::string> &constInputs,
                         std::vector<std::string> &states) {
  setHelp(
      command.add_option("--const-input", constInputs, "ONNX: fix input X to the array in FILE")
          ->allow_extra_args(false),
      "Input and output", "X=@FILE",
      R"(For inputs that must be known when the model is compiled, such as shapes or
axes. FILE is an .npy file.)");
  setHelp(
      command
          .add_option("--state", states, "ONNX: keep input IN as a state; OUT is its next value")
          ->allow_extra_args(false),
      "Input and output", "IN=OUT",
      R"(The input keeps its value from run to run, as in h0=hn or 'past.*=present.*'. A
state that grows by what each run adds becomes a cache, whose capacity may
follow: 'past.*=present.*[1024]'.)");
}

/// Takes what --smooth does.
static CLI::Validator checkExponent() {
  auto check = [](std::string &given) {
    char *end = nullptr;
    const double value = std::strtod(given.c_str(), &end);
    const bool isNumber = !given.empty() && *end == 0 && value >= 0 && value <= 1;
    return given == "auto" || isNumber
               ? std::string()
               : "expected auto or a number from 0 to 1, got '" + given + "'";
  };
  return {check, ""};
}

void dlc::addQuantizationOptions(CLI::App &command, QuantizationOptions &options) {
  const char *group = "Quantization and sparsity";
  GridOptions &grids = options.grids;
  setHelp(addChoice(command, "--activation-grid", grids.activation,
                    choicesOf<GridKind>(kGridKindNames),
                    "int8, dynamic: asymmetric, symmetric [asymmetric]"),
          group, "KIND",
          R"(asymmetric  u8 with a zero point
symmetric   i8 without one: the larger end of the range is 127 steps, so a
            tensor of one sign uses half of them)");
  setHelp(addChoice(command, "--weight-grid", grids.weight, choicesOf<GridKind>(kGridKindNames),
                    "w8, w4: asymmetric, symmetric [w8 symmetric, w4 not]"),
          group, "KIND",
          R"(symmetric   scales only, with as many steps on either side of 0
asymmetric  a zero point for each scale)");
  setHelp(addChoice(command, "--granularity", grids.granularity,
                    choicesOf<Granularity>(kGranularityNames),
                    "Scale per tensor, channel, group [channel; w4 group]"),
          group, "UNIT",
          R"(tensor   one scale for each weight
channel  one scale for each output channel
group    w8, w4: one scale for --group neighbours of a row)");
  setHelp(command
              .add_option("--group", grids.group,
                          "w8, w4: 16, 32, 64, 128, 256 weights a group [w4: 32]")
              ->check(checkOneOf({"16", "32", "64", "128", "256"})),
          group, "N");
  setHelp(command
              .add_option(
                  "--smooth",
                  [&options](const CLI::results_t &given) {
                    options.smooth.emplace();
                    if (given.back() != "auto")
                      options.smooth->fixed = std::strtod(given.back().c_str(), nullptr);
                    return true;
                  },
                  "Move activation scales into weights: 0..1 or auto")
              ->type_name("auto|EXPONENT")
              ->check(checkExponent()),
          group, "EXPONENT",
          R"(For activations with a few large channels. Needs --calib.
int8, dynamic  SmoothQuant with this exponent; 0.5 is usual
w8, w4         AWQ with this exponent; auto: for each activation the exponent,
               in steps of 0.1, that changes the products least)");
  setHelp(command.add_flag("--bias-correction", options.biasCorrection,
                           "int8: correct the mean of each output channel"),
          group, "", R"(Adds to each output channel what 8 bits take from its mean on --calib.)");
  setHelp(command.add_option("--keep-w8", options.keepW8, "w4: store these layers in 8 bits")
              ->allow_extra_args(false),
          group, "GLOB", R"(Globs as for --keep-f32. Try the layer of the logits first.)");
}

void dlc::addShapeOptions(CLI::App &command, ShapeOptions &shapes) {
  setHelp(command.add_option("--shapes", shapes.shapes,
                             "Fix symbolic dims, as in x:8x3x224x224,mask:8x64"),
          "Shapes", "SPEC", R"(A shape for each input, after its name.)");
  setHelp(command.add_option("--min-shapes", shapes.minShapes, "Smallest shapes that will occur"),
          "Shapes", "SPEC");
  setHelp(command.add_option("--max-shapes", shapes.maxShapes, "Largest shapes that will occur"),
          "Shapes", "SPEC");
}

/// Refuses what is no number, or none that fits, in our words: CLI11 tells alone that it could not
/// convert it.
static void checkNumbers(CLI::App &command) {
  auto got = [](const std::string &text) { return ", got '" + text + "'"; };
  auto isWhole = [got](const std::string &text) {
    constexpr auto kMost = std::numeric_limits<int>::max(); // of the narrowest option
    long long value = 0;
    return !llvm::StringRef(text).getAsInteger(0, value) && value >= -kMost && value <= kMost
               ? std::string()
               : "expected a whole number of at most " + std::to_string(kMost) + got(text);
  };
  auto isNatural = [got](const std::string &text) {
    unsigned long long value = 0;
    return !llvm::StringRef(text).getAsInteger(0, value)
               ? std::string()
               : "expected a whole number from 0 to " +
                     std::to_string(std::numeric_limits<unsigned long long>::max()) + got(text);
  };
  auto isNumber = [got](const std::string &text) {
    char *end = nullptr;
    std::strtod(text.c_str(), &end);
    return !text.empty() && !*end ? std::string() : "expected a number" + got(text);
  };
  for (CLI::Option *option : command.get_options()) {
    std::string type = option->get_type_name();
    if (type.starts_with("INT"))
      option->check(isWhole);
    else if (type.starts_with("UINT"))
      option->check(isNatural);
    else if (type.starts_with("FLOAT"))
      option->check(isNumber);
  }
}

/// Says which argument nobody takes, and what was probably meant; empty where each has been taken.
static std::string describeUnexpected(const CLI::App &app) {
  auto parsed = app.get_subcommands([](const CLI::App *command) { return command->parsed(); });
  bool isOfCommand = !parsed.empty() && app.remaining().empty();
  const CLI::App &command = isOfCommand ? *parsed.front() : app;
  std::vector<std::string> words = command.remaining();
  if (words.empty())
    return {};
  auto isOption = [](const std::string &word) { return word.starts_with("-"); };
  // A misspelt option leaves its value over, too; a misspelt command all that follows it.
  auto found = isOfCommand ? std::find_if(words.begin(), words.end(), isOption) : words.begin();
  std::string word = found == words.end() ? words.front() : found->substr(0, found->find('='));
  std::string call = isOfCommand ? "dlc " + command.get_name() : "dlc";
  std::string what = "has no option ";
  std::vector<std::string> known;
  if (isOption(word)) {
    for (const CLI::Option *option : command.get_options())
      for (const std::string &name : option->get_lnames())
        known.push_back("--" + name);
  } else if (isOfCommand) {
    what = "takes no further argument, got ";
  } else {
    what = "has no command ";
    for (const CLI::App *one : app.get_subcommands([](const CLI::App *) { return true; }))
      known.push_back(one->get_name());
  }
  std::string hint =
      dlc::frontend::didYouMean(word, std::vector<llvm::StringRef>(known.begin(), known.end()));
  return "'" + call + "' " + what + dlc::frontend::quote(word) + (hint.empty() ? ";" : hint) +
         " '" + call + " --help' shows what there is";
}

/// Says which option lacks a value or another option, or excludes one; empty where the error is of
/// another kind, which CLI11 words well.
static std::string describeMisuse(const CLI::App &app, const CLI::ParseError &error) {
  auto parsed = app.get_subcommands();
  if (parsed.empty())
    return {};
  const CLI::App &command = *parsed.front();
  const std::string call = "'dlc " + command.get_name() + "'";
  auto summary = [](const CLI::Option &option) {
    const std::string description = option.get_description();
    return description.substr(0, description.find(". "));
  };
  auto shown = [&](const CLI::Option &option) { // "--output (The .dl file to write)"
    return option.get_name(/*positional=*/option.get_positional()) + " (" + summary(option) + ")";
  };
  for (const CLI::Option *option : command.get_options()) {
    if (option->empty()) {
      if (option->get_required() && dynamic_cast<const CLI::RequiredError *>(&error))
        return call + " needs " + shown(*option);
      continue;
    }
    for (const CLI::Option *other : option->get_needs())
      if (other->empty() && dynamic_cast<const CLI::RequiresError *>(&error))
        return option->get_name() + " needs " + shown(*other) + " beside it";
    for (const CLI::Option *other : option->get_excludes())
      if (!other->empty() && dynamic_cast<const CLI::ExcludesError *>(&error))
        return option->get_name() + " and " + other->get_name() +
               " exclude each other; give one of them";
  }
  const std::string_view what = error.what();
  for (const CLI::Option *option : command.get_options())
    if (dynamic_cast<const CLI::ArgumentMismatch *>(&error) &&
        what.starts_with(option->get_name() + ":")) {
      const std::string type = option->get_type_name();
      const size_t list = type.find('{');
      return option->get_name() + " needs a value" +
             (list == std::string::npos
                  ? " (" + summary(*option) + ")"
                  : ", one of " + type.substr(list + 1, type.size() - list - 2));
    }
  return {};
}

int dlc::runCommandLine(int argc, char **argv, const Compiler &compiler) {
  reserveStandardFiles();
  CLI::App app("dlc: compiles neural networks to fast code, and runs it", "dlc");
  app.set_version_flag("--version", std::string("dlc ") + dlc_version());
  app.footer(kFooter);
  app.require_subcommand(1);
  Action action;
  addCheckCommand(app, action, compiler);
  addFormatCommand(app, action, compiler);
  addCompileCommand(app, action, compiler, {argv, argv + argc});
  addImportCommand(app, action, compiler);
  addGradCommand(app, action, compiler);
  addTrainCommand(app, action, compiler);
  addPruneCommand(app, action, compiler);
  addQuantizeCommand(app, action, compiler);
  addBisectCommand(app, action, compiler);
  addListCommand(app, action, compiler);
  addRunCommand(app, action);
  addGenerateCommand(app, action);
  addBenchCommand(app, action);
  addTuneCommand(app, action, compiler);
  addCompareCommand(app, action);
  addVerifyCommand(app, action);
  addInspectCommand(app, action, compiler);
  addExplainCommand(app, action);
  addRefitCommand(app, action);
  addDoctorCommand(app, action);
  app.add_subcommand("help", "Explain a command, or an option of a command");
  for (CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    checkNumbers(*command);
  layOutHelp(app);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    std::string problem, text = helpOn(app, {argv + 2, argv + argc}, problem);
    return problem.empty() ? finishOutput(text) : fail(kUsage, problem);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &asked) { // --help, --version
    std::ostringstream text, none;
    app.exit(asked, text, none);
    return finishOutput(text.str());
  } catch (const CLI::ParseError &error) {
    if (std::string unexpected = describeUnexpected(app); !unexpected.empty())
      return fail(kUsage, unexpected);
    auto parsed = app.get_subcommands();
    std::string call = parsed.empty() ? "dlc" : "dlc " + parsed.front()->get_name();
    std::string misuse = describeMisuse(app, error);
    if (parsed.empty() && dynamic_cast<const CLI::RequiredError *>(&error))
      misuse = "dlc needs a command, such as compile or run";
    std::string_view what = misuse.empty() ? error.what() : std::string_view(misuse);
    return fail(kUsage, std::string(what) + (what.ends_with('?') ? " '" : "; '") + call +
                            " --help' explains it");
  }
  return action();
}
