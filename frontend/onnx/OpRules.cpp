//===- OpRules.cpp - Which dl ops compute which ONNX ops ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

#include "frontend/Spelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;

namespace dlc::onnx {

//===- Lines of records -----------------------------------------------------------------------===//

PlainRule parsePlainRule(StringRef dlOp, StringRef line) {
  auto malformed = [&]() {
    llvm::report_fatal_error("malformed onnx line of '" + dlOp + "': " + llvm::Twine(line));
  };
  auto [head, params] = line.trim().split('(');
  PlainRule rule;
  rule.dlOp = dlOp;
  rule.name = head.split('@').first;
  auto [since, until] = head.split('@').second.split('-');
  if ((!since.empty() && since.getAsInteger(10, rule.since)) ||
      (!until.empty() && until.getAsInteger(10, rule.until)) || !params.consume_back(")"))
    malformed();
  SmallVector<StringRef> parts;
  params.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    part = part.trim();
    PlainRule::Entry entry{PlainRule::Entry::operand, {}, {}, {}};
    if (part.consume_front("!")) {
      entry.kind = PlainRule::Entry::constant;
      std::tie(entry.attributeName, entry.value) = part.split('=');
    } else if (part.contains('=')) {
      entry.kind = PlainRule::Entry::attribute;
      std::tie(entry.param, entry.attributeName) = part.split('=');
      std::tie(entry.attributeName, entry.value) = entry.attributeName.split(':');
    } else {
      entry.kind = part.consume_back("?")   ? PlainRule::Entry::optionalOperand
                   : part.consume_back("*") ? PlainRule::Entry::operands
                                            : PlainRule::Entry::operand;
      entry.param = part;
    }
    if (entry.param.empty() && entry.attributeName.empty())
      malformed();
    rule.entries.push_back(entry);
  }
  return rule;
}

llvm::ArrayRef<PlainRule> plainRules() {
  static const std::vector<PlainRule> rules = [] {
    std::vector<PlainRule> rules;
    for (const OpInfo &info : opTable()) {
      SmallVector<StringRef> lines;
      info.onnx.split(lines, '\n', -1, /*KeepEmpty=*/false);
      for (StringRef line : lines)
        rules.push_back(parsePlainRule(info.op, line));
    }
    return rules;
  }();
  return rules;
}

llvm::ArrayRef<OddRule> oddRules() {
  static const std::vector<OddRule> rules = [] {
    std::vector<OddRule> rules;
    for (auto family : {elementwiseRules(),   activationRules(),      reductionRules(),
                        reshapeRules(),       arrangementRules(),     sliceRules(),
                        padRules(),           indexRules(),           windowRules(),
                        contractionRules(),   normalizationRules(),   creationRules(),
                        recurrentRules(),     attentionRules(),       rotaryRules(),
                        scatterRules(),       orderRules(),           resizeRules(),
                        lossRules(),          sequenceRules(),        signalRules(),
                        sampleRules(),        quantizationRules(),    patchRules(),
                        countedRules(),       randomRules(),          gradientRules(),
                        firstFormRules(),     microsoftFusionRules(), microsoftAttentionRules(),
                        groupQueryRules(),    blockQuantizedRules(),  microsoftQuantizedRules(),
                        microsoftNormRules(), microsoftOtherRules(),  expertRules(),
                        optimizerRules()})
      rules.insert(rules.end(), family.begin(), family.end());
    return rules;
  }();
  return rules;
}

/// The newest rule that the opset has.
template <typename Rule>
static const Rule *findRule(ArrayRef<Rule> rules, StringRef name, int64_t opset) {
  const Rule *found = nullptr;
  for (const Rule &rule : rules) {
    bool isPast = false;
    if constexpr (std::is_same_v<Rule, PlainRule>)
      isPast = opset > rule.until;
    if (rule.name == name && opset >= rule.since && !isPast &&
        (!found || rule.since > found->since))
      found = &rule;
  }
  return found;
}

bool hasRule(StringRef name, int64_t opset) {
  return findRule(plainRules(), name, opset) || findRule(oddRules(), name, opset);
}

std::string nearestRule(StringRef name, int64_t opset) {
  SmallVector<StringRef> names;
  for (const PlainRule &rule : plainRules())
    names.push_back(rule.name);
  for (const OddRule &rule : oddRules())
    names.push_back(rule.name);
  for (StringRef other : names)
    if (other == name)
      return "; dlc imports it in other opsets than " + std::to_string(opset) +
             ": export the model with a newer one";
  auto near = frontend::nearest(name, names);
  return near ? "; the nearest op that dlc imports is " + frontend::quote(*near) : std::string();
}

//===- Plain ops ------------------------------------------------------------------------------===//

/// The value of a parameter from an attribute of the node; nothing where the op's own default
/// holds.
static std::optional<Item> attributeItem(NodeImport &node, const PlainRule::Entry &entry,
                                         const Param &param) {
  std::string name = entry.attributeName.str();
  if (!node.hasAttribute(name)) {
    if (entry.value.empty())
      return std::nullopt;
    Item item = *frontend::literal(entry.value);
    if (param.type == Param::boolean)
      return onnx::item(item.as<int64_t>() != 0);
    return item;
  }
  switch (param.type) {
  case Param::boolean:
    return item(node.integer(name, 0) != 0);
  case Param::integer:
    return item(node.integer(name, 0));
  case Param::integers:
    return itemList(node.integerList(name));
  case Param::floating:
    return item(node.real(name, 0));
  case Param::string:
    return item(StringRef(node.string(name, "")));
  default:
    break;
  }
  llvm::report_fatal_error(
      "an onnx line names a parameter of a type that attributes do not have: " +
      llvm::Twine(entry.param));
}

static const Param &paramOf(const PlainRule &rule, StringRef name, const Signature *&signature) {
  for (const OpInfo &info : opTable())
    for (const Signature &candidate : info.signatures)
      if (candidate.op == rule.dlOp)
        for (const Param &param : candidate.params)
          if (param.name == name && (!signature || signature == &candidate)) {
            signature = &candidate;
            return param;
          }
  llvm::report_fatal_error("the onnx line of '" + rule.dlOp +
                           "' names no parameter of it: " + llvm::Twine(name));
}

static bool buildPlain(NodeImport &node, const PlainRule &rule) {
  std::vector<std::pair<StringRef, Item>> arguments;
  const Signature *signature = nullptr;
  size_t input = 0;
  for (const PlainRule::Entry &entry : rule.entries) {
    switch (entry.kind) {
    case PlainRule::Entry::operand:
      if (!node.has(input))
        return node.fail("it needs its input " + llvm::Twine(input));
      [[fallthrough]];
    case PlainRule::Entry::optionalOperand:
      paramOf(rule, entry.param, signature);
      if (node.has(input))
        arguments.push_back({entry.param, node.tensor(input)});
      ++input;
      break;
    case PlainRule::Entry::operands: {
      paramOf(rule, entry.param, signature);
      Item::List list;
      for (; input < node.inputCount(); ++input)
        list.push_back(node.tensor(input));
      arguments.push_back({entry.param, {std::move(list), {}}});
      break;
    }
    case PlainRule::Entry::attribute:
      if (auto item = attributeItem(node, entry, paramOf(rule, entry.param, signature)))
        arguments.push_back({entry.param, std::move(*item)});
      break;
    case PlainRule::Entry::constant: {
      int64_t only = 0;
      if (!entry.value.empty() && !entry.value.getAsInteger(10, only) &&
          node.integer(entry.attributeName, only) != only)
        return node.unsupported("its attribute " + frontend::quote(entry.attributeName) + " is " +
                                    llvm::Twine(node.integer(entry.attributeName, only)),
                                "; dlc takes " + llvm::Twine(only));
      node.attribute(entry.attributeName);
      break;
    }
    }
  }
  if (node.inputCount() > input)
    return node.fail("it has " + llvm::Twine(node.inputCount()) + " inputs; expected at most " +
                     llvm::Twine(input));
  if (node.hasFailed())
    return false;
  if (!signature)
    llvm::report_fatal_error("an onnx line without operands: " + llvm::Twine(rule.name));
  node.set(0, node.call(signature->name, {}, arguments));
  return !node.hasFailed();
}

bool buildNode(NodeImport &node, StringRef name) {
  const OddRule *odd = findRule(oddRules(), name, node.opset);
  const PlainRule *plain = findRule(plainRules(), name, node.opset);
  // A function of the same opset or a later one knows more forms than the record's line.
  bool isBuilt =
      odd && (!plain || odd->since >= plain->since) ? odd->build(node) : buildPlain(node, *plain);
  return isBuilt && node.allAttributesRead();
}

Item NodeImport::as(StringRef op, int64_t opset, ArrayRef<Operand> operands) {
  NodeImport other(importer, node, frame, opset);
  other.inputs.clear();
  for (auto [place, operand] : llvm::enumerate(operands)) {
    const auto *input = std::get_if<size_t>(&operand);
    other.inputs.push_back(input && has(*input) ? inputs[*input] : nullptr);
    if (const auto *tensor = std::get_if<Item>(&operand)) {
      failed |= !tensor->isTensor();
      other.replaceInput(place, *tensor);
    }
  }
  while (!other.inputs.empty() && !other.inputs.back())
    other.inputs.pop_back();
  for (const auto &name : read)
    other.read.insert(name.getKey());
  failed = failed || !wants(0) || !buildNode(other, op);
  for (const Attribute &attribute : node.attributes)
    read.insert(attribute.name);
  return failed ? Item{Item::Poison(), {}} : Item{frame.values[node.outputs[0]].tensor, {}};
}

} // namespace dlc::onnx
