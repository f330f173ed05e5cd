//===- GenerateCommand.cpp - dlc generate: the text that follows a prompt -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/run/Decoder.h"
#include "tools/driver/text/TextStream.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>

namespace {
struct GenerateOptions {
  std::string model, tokenizer, prompt, tokens, stop;
  int64_t maxTokens = 0; // 0: as many as the cache holds
  dlc::Sampling sampling;
  dlc::DeviceOptions device;
};
} // namespace

static constexpr const char *kAbout =
    R"(The model is a decoder with a cache: an ONNX model compiled with --state for its
past, or a .dl model that writes to states by update_slice. The prompt is read
in one run if the model allows it, then each run makes one token.

With --tokenizer (a tokenizer.json of Hugging Face) --prompt is a text, and text
is printed as it is made. Without it --tokens takes numbers, and numbers are
printed. The prompt and the token that ends the text are not printed. The speed
goes to stderr.

The text ends before a token of --stop. Without --stop it ends before a special
token with a common end-of-text name:
)";

static constexpr const char *kExamples = R"(
Examples:
  dlc generate model.bin --tokenizer tokenizer.json --prompt "Once upon a time"
  dlc generate model.bin --tokenizer tokenizer.json --prompt - < prompt.txt
  dlc generate model.bin --tokenizer tokenizer.json --prompt Hello \
      --temperature 0.8 --top-k 40 --top-p 0.95 --seed 7
  dlc generate model.bin --tokens 1,403,407 --max-tokens 50 --stop 2
  dlc generate model.bin --tokens @prompt.npy)";

namespace dlc {

/// Numbers with commas or spaces between; false where there is anything else.
static bool parseIds(const std::string &text, std::vector<int64_t> &ids) {
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int64_t number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0)
      return false;
    ids.push_back(number);
    at = next;
    bool isBetween = false;
    while (at != end && (*at == ',' || *at == ' '))
      isBetween = true, ++at;
    if (at != end && !isBetween)
      return false;
  }
  return !ids.empty();
}

static int readTokens(const std::string &text, std::vector<int64_t> &ids) {
  if (!text.starts_with("@"))
    return parseIds(text, ids)
               ? kOk
               : fail(kUsage, "--tokens '" + text +
                                  "': expected the numbers of tokens, as in 1,403,407, or "
                                  "@FILE.npy; a text is for --prompt, with --tokenizer");
  HostTensor array;
  std::string problem;
  if (int code = readTensor(text.substr(1), "", array, problem))
    return fail(code, problem);
  bool isRow = array.dims.size() == 1 || (array.dims.size() == 2 && array.dims[0] == 1);
  if (!isRow || array.size() == 0 || (array.dtype != DLC_I64 && array.dtype != DLC_I32))
    return fail(kUsage, "--tokens '" + text + "' is " + array.describe() +
                            "; expected one or more tokens: i64[T] or i64[1,T]");
  for (int64_t i = 0; i < array.size(); ++i)
    ids.push_back(static_cast<int64_t>(array.at(i)));
  return kOk;
}

/// The tokens of --tokens, or those of the text --prompt. An ExitCode, reported unless it is kOk.
static int readPrompt(const GenerateOptions &options, const text::Tokenizer *tokenizer,
                      std::vector<int64_t> &ids) {
  if (!options.tokens.empty())
    return readTokens(options.tokens, ids);
  if (!tokenizer)
    return fail(kUsage,
                "dlc generate needs a prompt: --tokenizer tokenizer.json and --prompt TEXT, "
                "or --tokens and the numbers of tokens");
  std::string text = options.prompt;
  if (text == "-")
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  text::Problem problem;
  if (!tokenizer->encode(text, ids, problem))
    return fail(problem.code, "--prompt: " + problem.message);
  return ids.empty() ? fail(kUsage, "--prompt has no tokens; expected a text") : kOk;
}

/// The tokens that end the text. An ExitCode, reported unless it is kOk.
static int readStops(const GenerateOptions &options, const text::Tokenizer *tokenizer,
                     std::vector<int64_t> &ids) {
  if (options.stop.empty()) {
    if (tokenizer)
      ids = tokenizer->endTokens();
    return kOk;
  }
  if (parseIds(options.stop, ids))
    return kOk;
  ids.clear();
  if (tokenizer)
    if (auto id = tokenizer->id(options.stop)) {
      ids.push_back(*id);
      return kOk;
    }
  return fail(kUsage,
              "--stop '" + options.stop + "': expected the numbers of tokens, as in 2 or 2,3" +
                  (tokenizer ? ", or a token of '" + options.tokenizer + "', as in </s>" : ""));
}

/// An ExitCode, reported unless it is kOk: the prompt, and what shall follow it, fit into the
/// model.
static int checkRequest(const Decoder &decoder, const GenerateOptions &options,
                        const std::vector<int64_t> &prompt, int64_t &count) {
  std::string option = options.tokens.empty() ? "--prompt" : "--tokens";
  if (auto vocabulary = decoder.vocabulary())
    for (int64_t id : prompt)
      if (id < 0 || id >= *vocabulary)
        return fail(kUsage, option + ": token " + std::to_string(id) + " is none of the model's " +
                                std::to_string(*vocabulary) + " tokens, 0 to " +
                                std::to_string(*vocabulary - 1));
  // The last token is not read any more.
  auto size = static_cast<int64_t>(prompt.size());
  int64_t room = decoder.capacity() - size + 1;
  if (room < 1)
    return fail(kUsage, "the prompt has " + std::to_string(size) +
                            " tokens, and the model's cache holds " +
                            std::to_string(decoder.capacity()) +
                            "; shorten it, or compile the model with a larger cache");
  if (options.maxTokens > room)
    return fail(kUsage,
                "--max-tokens " + std::to_string(options.maxTokens) + " after a prompt of " +
                    std::to_string(size) + (size == 1 ? " token" : " tokens") +
                    " need a cache of " + std::to_string(size + options.maxTokens - 1) +
                    " positions, and the model's holds " + std::to_string(decoder.capacity()) +
                    "; at most " + std::to_string(room) +
                    " fit, or compile the model with a larger cache");
  count = options.maxTokens ? options.maxTokens : room;
  return kOk;
}

static int generate(const GenerateOptions &options) {
  std::vector<int64_t> prompt, stops;
  std::unique_ptr<text::Tokenizer> tokenizer;
  text::Problem problem;
  if (!options.tokenizer.empty() &&
      !(tokenizer = text::Tokenizer::load(options.tokenizer, problem)))
    return fail(problem.code, problem.message);
  if (int code = readPrompt(options, tokenizer.get(), prompt))
    return code;
  if (int code = readStops(options, tokenizer.get(), stops))
    return code;
  Decoder decoder;
  if (int code = decoder.open(options.model, options.device))
    return code;
  int64_t count = 0;
  if (int code = checkRequest(decoder, options, prompt, count))
    return code;

  using Clock = std::chrono::steady_clock;
  auto secondsSince = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  std::vector<double> logits;
  auto begin = Clock::now();
  if (int code = decoder.read(prompt, logits))
    return code;
  double promptSeconds = secondsSince(begin);
  begin = Clock::now();
  int64_t made = 0, runs = 0;
  std::optional<text::TextStream> stream;
  if (tokenizer)
    stream.emplace(*tokenizer);
  std::string piece;
  for (; made < count; ++made) {
    int64_t token = chooseToken(logits, options.sampling, static_cast<uint64_t>(made));
    if (std::find(stops.begin(), stops.end(), token) != stops.end())
      break;
    if (!stream)
      piece = (made ? " " : "") + std::to_string(token);
    else if (!stream->add(token, piece, problem))
      return fail(problem.code, problem.message);
    if (int code = finishOutput(piece))
      return code;
    if (made + 1 == count)
      continue;
    if (int code = decoder.read({token}, logits))
      return code;
    ++runs;
  }
  double seconds = secondsSince(begin);
  piece.clear();
  if (stream && !stream->finish(piece, problem))
    return fail(problem.code, problem.message);
  if (int code = finishOutput(piece + "\n"))
    return code;
  char text[200];
  std::snprintf(
      text, sizeof(text),
      "prompt: %zu tokens in %.3g ms (%.4g tokens/s); generated: %lld in %.3g ms (%.4g tokens/s)",
      prompt.size(), 1e3 * promptSeconds, static_cast<double>(prompt.size()) / promptSeconds,
      static_cast<long long>(made), 1e3 * seconds,
      seconds > 0 ? static_cast<double>(runs) / seconds : 0.0);
  complain(text);
  return kOk;
}

} // namespace dlc

namespace dlc {

static void addSamplingOptions(CLI::App &command, Sampling &sampling) {
  const char *group = "Sampling";
  auto *temperature = setHelp(
      command.add_option("--temperature", sampling.temperature, "0 for the likeliest token [0]")
          ->check(checkNotNegative, "NONNEGATIVE"),
      group, "T", R"(The larger it is, the more often unlikely tokens are drawn.)");
  setHelp(command.add_option("--top-k", sampling.topK, "Draw among the K likeliest tokens")
              ->check(checkPositive, "POSITIVE"),
          group, "K", R"(Tokens as likely as the last of them count, too.)")
      ->needs(temperature);
  setHelp(command.add_option("--top-p", sampling.topP, "Draw among tokens of this probability")
              ->check(checkRange(0, 1)),
          group, "P", R"(The fewest of the likeliest tokens that have it together.)")
      ->needs(temperature);
  setHelp(command.add_option("--seed", sampling.seed, "Seed of the draws [0]"), group, "N")
      ->needs(temperature);
}

} // namespace dlc

void dlc::addGenerateCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App *command =
      app.add_subcommand("generate", "Continue a text or its tokens, token by token");
  std::string names;
  for (const std::string &name : text::kEndTokens)
    names += "  " + name + "\n";
  setExamples(*command, kAbout + names + kExamples);
  command->add_option("model", options->model, "The compiled decoder, model.bin")->required();
  const char *group = "Text";
  auto *tokenizer =
      setHelp(command->add_option("--tokenizer", options->tokenizer, "The model's tokenizer.json"),
              group, "FILE", R"(Prompt and result are texts instead of numbers.)");
  auto *prompt =
      setHelp(command->add_option("--prompt", options->prompt, "Text to continue; - reads stdin"),
              group, "TEXT", R"(--tokens takes numbers instead.)")
          ->needs(tokenizer);
  setHelp(command->add_option("--tokens", options->tokens, "Tokens to continue, or @FILE.npy"),
          group, "LIST", R"(Numbers, as in 1,403,407.)")
      ->excludes(prompt);
  setHelp(command->add_option("--max-tokens", options->maxTokens, "Most tokens [the cache's size]")
              ->check(checkPositive, "POSITIVE"),
          group, "N");
  setHelp(command->add_option("--stop", options->stop, "What ends the text, such as 2,3 or </s>"),
          group, "TOKENS", R"(Numbers of tokens or, with --tokenizer, the text of one token.)");
  addSamplingOptions(*command, options->sampling);
  options->device.declare(*command);
  command->callback([&action, options] { action = [options] { return generate(*options); }; });
}
