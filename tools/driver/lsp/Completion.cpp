//===- Completion.cpp - What could stand at a place of a model's text ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/lsp/Completion.h"

#include "frontend/dl/declare/Layers.h"
#include "frontend/dl/evaluate/Item.h"
#include "frontend/dl/library/Library.h"
#include "tools/driver/lsp/Documentation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace lsp = llvm::lsp;
using llvm::StringRef;
using Kind = lsp::CompletionItemKind;

namespace dlc {
namespace {

/// Where the cursor stands.
struct Context {
  StringRef line;                 // up to the cursor
  unsigned braces = 0;            // open ones
  bool inSignature = false;       // within the parentheses of forward or behind its arrow
  bool inForward = false;         // within the braces of forward
  std::string callee;             // of the innermost open call; empty outside of calls
  std::vector<std::string> given; // keyword arguments that it has already
};

class Completer {
public:
  Completer(const Context &context, const SourceIndex &index) : context(context), index(index) {}
  std::vector<lsp::CompletionItem> run();

private:
  void add(StringRef label, Kind kind, StringRef detail, char rank, StringRef documentation = {});
  void addKeywords(llvm::ArrayRef<StringRef> words);
  void addDtypes();
  void addLayerKinds();
  void addArguments();
  void addNames();
  void addFunctions();

  const Context &context;
  const SourceIndex &index;
  std::vector<lsp::CompletionItem> items;
  llvm::StringSet<> seen;
};

} // namespace

static bool isWordPart(char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; }

/// The word that ends at the end of `text`, spaces apart.
static StringRef lastWord(StringRef text) {
  text = text.rtrim();
  size_t begin = text.size();
  while (begin > 0 && isWordPart(text[begin - 1]))
    --begin;
  return text.substr(begin);
}

/// Reads the text up to the cursor: its brackets, strings and comments apart.
static Context contextOf(StringRef text) {
  struct Open {
    size_t at;
    char bracket;
    bool isForward;
    std::vector<std::string> given;
  };
  std::vector<Open> open;
  size_t forwardAt = StringRef::npos; // of a signature that has not reached its braces yet
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      size_t end = at + 1;
      while (end < text.size() && text[end] != c && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      at = end;
    } else if (c == '(' || c == '[' || c == '{') {
      bool isForward = c == '{' && forwardAt != StringRef::npos;
      if (c == '{')
        forwardAt = StringRef::npos;
      if (c == '(' && lastWord(text.take_front(at)) == "forward")
        forwardAt = at;
      open.push_back({at, c, isForward, {}});
    } else if (c == ')' || c == ']' || c == '}') {
      // A brace ends brackets that were never closed.
      while (c == '}' && !open.empty() && open.back().bracket != '{')
        open.pop_back();
      if (!open.empty())
        open.pop_back();
    } else if (c == '=' && !open.empty() && open.back().bracket == '(') {
      open.back().given.push_back(lastWord(text.take_front(at)).str());
    }
  }
  Context context;
  context.line = text.substr(text.rfind('\n') + 1);
  context.inSignature = forwardAt != StringRef::npos;
  for (const Open &bracket : open) {
    context.braces += bracket.bracket == '{';
    context.inForward |= bracket.isForward;
  }
  if (!open.empty() && open.back().bracket == '(' && !context.inSignature) {
    context.callee = lastWord(text.take_front(open.back().at)).str();
    context.given = open.back().given;
  }
  return context;
}

/// `rank` sorts what is probably meant to the top.
void Completer::add(StringRef label, Kind kind, StringRef detail, char rank,
                    StringRef documentation) {
  if (label.empty() || !seen.insert(label).second)
    return;
  lsp::CompletionItem item(label, kind, (llvm::Twine(rank) + label).str());
  item.detail = detail.str();
  if (!documentation.empty())
    item.documentation = lsp::MarkupContent{lsp::MarkupKind::PlainText, documentation.str()};
  items.push_back(std::move(item));
}

void Completer::addKeywords(llvm::ArrayRef<StringRef> words) {
  for (StringRef word : words)
    add(word, Kind::Keyword, "", 'k');
}

void Completer::addDtypes() {
  for (StringRef name : frontend::dtypeNames())
    add(name, Kind::TypeParameter, "dtype", 'd');
}

void Completer::addLayerKinds() {
  for (const frontend::LayerKind &kind : frontend::layerKinds()) {
    auto calls = callsOf(kind.name);
    add(kind.name, Kind::Class, calls.empty() ? StringRef() : StringRef(calls.back()), 'b',
        frontend::summaryOf(kind.function));
  }
  for (const Mention &mention : index.mentions)
    if (mention.kind == Mention::Kind::block && mention.isDefinition())
      add(mention.name, Kind::Class, mention.text, 'a');
}

static StringRef describe(Param::Type type) {
  switch (type) {
  case Param::tensor:
    return "tensor";
  case Param::tensors:
    return "tensors";
  case Param::integer:
    return "int";
  case Param::integers:
    return "ints";
  case Param::floating:
    return "float";
  case Param::floatings:
    return "floats";
  case Param::boolean:
    return "bool";
  case Param::string:
    return "string";
  case Param::dtype:
    return "dtype";
  case Param::dims:
    return "dims";
  case Param::fixed:
    return "constant";
  }
  return "value"; // a kind of parameter that is newer than this list
}

void Completer::addArguments() {
  unsigned order = 0; // as they stand in the signature
  auto offer = [&](StringRef name, StringRef detail) {
    if (name.empty() || llvm::is_contained(context.given, name))
      return;
    size_t before = items.size();
    add((name + "=").str(), Kind::Property, detail, 'a');
    if (items.size() > before)
      items.back().sortText = llvm::formatv("a{0,0+3}", order++).str();
  };
  // "block Attention(width, heads)"
  for (const Mention &mention : index.mentions)
    if (mention.kind == Mention::Kind::block && mention.name == context.callee)
      for (StringRef name : llvm::split(
               StringRef(mention.text).drop_until([](char c) { return c == '('; }).trim("()"), ","))
        offer(name.trim(), "of the block");
  for (const Param &param : paramsOf(context.callee)) {
    std::string detail = describe(param.type).str();
    if (param.hasDefault)
      detail += " = " + param.defaultValue.str();
    offer(param.name, detail);
  }
}

void Completer::addNames() {
  for (const Mention &mention : llvm::reverse(index.mentions)) {
    if (!mention.isDefinition())
      continue;
    if (mention.kind == Mention::Kind::value && context.inForward)
      add(mention.name, Kind::Variable, mention.text, 'b');
    else if (mention.kind == Mention::Kind::layer && context.inForward)
      add(mention.name, Kind::Field, mention.text, 'c');
    else if (mention.kind == Mention::Kind::dim || mention.kind == Mention::Kind::constant)
      add(mention.name, Kind::Constant, mention.text, 'e');
  }
}

void Completer::addFunctions() {
  frontend::forEachFunction([&](const Signature &signature, StringRef summary) {
    add(signature.name, Kind::Function, signature.text, 'f', summary);
  });
}

std::vector<lsp::CompletionItem> Completer::run() {
  StringRef before = context.line;
  size_t word = before.size();
  while (word > 0 && isWordPart(before[word - 1]))
    --word;
  before = before.take_front(word).rtrim();
  if (context.inSignature) {
    if (before.ends_with(":"))
      addDtypes();
    else
      addNames();
    return std::move(items);
  }
  if (context.braces == 0 && context.callee.empty()) {
    if (before.empty())
      addKeywords({"dl", "dim", "const", "model", "block", "sequential", "include", "weights"});
    else
      addNames();
    return std::move(items);
  }
  if (!context.inForward && context.callee.empty()) {
    if (before.ends_with(":"))
      addLayerKinds();
    else if (before.empty())
      addKeywords({"forward", "const", "if", "for"});
    else
      addNames();
    return std::move(items);
  }
  if (!context.callee.empty())
    addArguments();
  addNames();
  if (context.inForward) {
    addFunctions();
    addDtypes();
    if (before.empty())
      addKeywords({"if", "for"});
  }
  addKeywords({"true", "false", "None"});
  return std::move(items);
}

lsp::CompletionList complete(StringRef text, size_t offset, const SourceIndex &index) {
  Context context = contextOf(text.take_front(offset));
  lsp::CompletionList list;
  list.items = Completer(context, index).run();
  return list;
}

} // namespace dlc
