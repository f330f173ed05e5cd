//===- OptionHelp.cpp - What --help and dlc help say of an option -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/OptionHelp.h"

#include "frontend/Spelling.h"

#include <CLI/CLI.hpp>

#include <map>
#include <sstream>

namespace dlc {
namespace {

struct OptionText {
  std::string value, details;
};

/// Of the options and commands of this process, which outlive their apps by nothing.
struct HelpTexts {
  std::map<const CLI::Option *, OptionText> options;
  std::map<const CLI::App *, std::string> examples;
};

HelpTexts &texts() {
  static HelpTexts all;
  return all;
}

/// An option that may be given several times, each time with one value.
bool isRepeated(const CLI::Option &option) {
  return option.get_expected_max() > 1 && option.get_delimiter() == '\0' &&
         !option.get_positional();
}

/// An option with a text of its own shows the word for its value; others what CLI11 makes of them.
class Layout : public CLI::Formatter {
public:
  std::string make_option_opts(const CLI::Option *option) const override {
    auto text = texts().options.find(option);
    if (text == texts().options.end())
      return CLI::Formatter::make_option_opts(option);
    std::string shown = text->second.value.empty() ? "" : " " + text->second.value;
    return isRepeated(*option) ? shown + " *" : shown;
  }
  std::string make_option_desc(const CLI::Option *option) const override {
    const bool isNeeded = option->get_required() && !option->get_positional();
    return option->get_description() + (isNeeded ? " (required)" : "");
  }
};

} // namespace

CLI::Option *setHelp(CLI::Option *option, const char *group, const char *value,
                     const std::string &details) {
  texts().options[option] = {value, details};
  return option->group(group);
}

std::string entryOf(const std::string &name, const std::string &text, size_t width) {
  std::string entry, before = name;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); before.clear())
    entry += before + std::string(width - before.size(), ' ') + line + "\n";
  return entry;
}

void setExamples(CLI::App &command, const std::string &examples) {
  texts().examples[&command] = examples;
}

void layOutHelp(CLI::App &app) {
  auto wide = std::make_shared<CLI::Formatter>();
  wide->column_width(13);
  app.formatter(wide);
  for (CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; })) {
    auto layout = std::make_shared<Layout>();
    layout->column_width(27);
    command->formatter(layout);
    if (!texts().examples.contains(command))
      continue;
    std::string footer =
        "'dlc help " + command->get_name() + "' shows examples; add --NAME to explain an option.";
    for (const CLI::Option *option : command->get_options())
      if (isRepeated(*option)) {
        footer += "\nOptions with * may be repeated.";
        break;
      }
    command->footer(footer);
  }
}

/// The text of `dlc help COMMAND --NAME`.
static std::string detailsOf(const CLI::Option &option) {
  auto found = texts().options.find(&option);
  std::string head = option.get_name(false, true);
  std::string body = option.get_description();
  if (found != texts().options.end()) {
    head += found->second.value.empty() ? "" : " " + found->second.value;
    body += found->second.details.empty() ? "" : ".\n" + found->second.details;
  }
  std::ostringstream text;
  text << head << '\n';
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);)
    text << line << '\n';
  return text.str();
}

/// The option of `command` that `word` names, "--quantize" or "quantize".
static const CLI::Option *optionOf(const CLI::App &command, const std::string &word) {
  std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  for (const CLI::Option *option : command.get_options())
    if (option->check_lname(name) || option->check_sname(name) ||
        (option->get_positional() && option->get_name(true) == name))
      return option;
  return nullptr;
}

std::string helpOn(CLI::App &app, const std::vector<std::string> &words, std::string &problem) {
  auto isAny = [](const CLI::App *) { return true; };
  if (words.empty())
    return app.help();
  const CLI::App *command = nullptr;
  std::vector<std::string> names;
  for (const CLI::App *one : app.get_subcommands(isAny)) {
    names.push_back(one->get_name());
    command = one->get_name() == words.front() ? one : command;
  }
  auto refuse = [&](const std::string &what, const std::string &word, const std::string &call) {
    std::string hint =
        frontend::didYouMean(word, std::vector<llvm::StringRef>(names.begin(), names.end()));
    problem = what + frontend::quote(word) + (hint.empty() ? ";" : hint) + " '" + call +
              "' shows what there is";
    return std::string();
  };
  if (!command)
    return refuse("'dlc' has no command ", words.front(), "dlc --help");
  if (words.size() == 1) {
    auto examples = texts().examples.find(command);
    return examples == texts().examples.end() ? command->help(app.get_name())
                                              : examples->second + "\n";
  }
  std::string text;
  for (size_t i = 1; i < words.size(); ++i) {
    const CLI::Option *option = optionOf(*command, words[i]);
    if (!option) {
      names.clear();
      for (const CLI::Option *one : command->get_options())
        for (const std::string &name : one->get_lnames())
          names.push_back("--" + name);
      return refuse("'dlc " + command->get_name() + "' has no option ", words[i],
                    "dlc " + command->get_name() + " --help");
    }
    text += (text.empty() ? "" : "\n") + detailsOf(*option);
  }
  return text;
}

} // namespace dlc
