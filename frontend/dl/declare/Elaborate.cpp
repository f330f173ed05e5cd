//===- Elaborate.cpp - The layers that the declarations of a model make -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/Elaborator.h"

#include "frontend/Spelling.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::frontend {

std::variant<SmallVector<const PassedArgument *>, BindError>
bindByName(StringRef callee, ArrayRef<StringRef> names, ArrayRef<PassedArgument> arguments,
           dl::SymbolNames symbols) {
  SmallVector<const PassedArgument *> bound(names.size());
  size_t position = 0;
  for (const PassedArgument &argument : arguments) {
    size_t target = position;
    if (argument.keyword.empty()) {
      if (position++ == names.size())
        return BindError{argument.loc, quote(callee) + " takes " + std::to_string(names.size()) +
                                           (names.size() == 1 ? " argument" : " arguments") +
                                           ", got more: " + describe(argument.value, symbols)};
    } else {
      target = llvm::find(names, argument.keyword) - names.begin();
      if (target == names.size())
        return BindError{argument.loc,
                         quote(callee) + " has no argument " + quote(argument.keyword) +
                             (nearest(argument.keyword, names) ? didYouMean(argument.keyword, names)
                              : names.empty() ? std::string("; it takes none")
                                              : "; it takes " + llvm::join(names, ", "))};
    }
    if (bound[target])
      return BindError{argument.loc,
                       quote(callee) + " gets its argument " + quote(names[target]) + " twice"};
    bound[target] = &argument;
  }
  return bound;
}

/// "block Attention(width, heads)"
static std::string signatureOf(const BlockDecl &block) {
  std::string text = ("block " + block.name.name + "(").str();
  for (const ConstDecl &parameter : block.parameters)
    text += (text.back() == '(' ? "" : ", ") + parameter.name.name.str();
  return text + ")";
}

void collectBlocks(const SourceFile &file, ArrayRef<const SourceFile *> included,
                   llvm::StringMap<const BlockDecl *> &blocks, Diagnostics &diagnostics) {
  SmallVector<const SourceFile *> files(included);
  files.push_back(&file);
  for (const SourceFile *source : files)
    for (const BlockDecl &block : source->blocks) {
      auto [entry, isNew] = blocks.try_emplace(block.name.name, &block);
      diagnostics.mention(Mention::Kind::block, block.name.name, block.name.loc,
                          [&] { return signatureOf(block); });
      if (!isNew)
        diagnostics.error(block.name.loc)
                .append("block ", quote(block.name.name),
                        " has been declared before; choose another name")
                .attachNote(diagnostics.translate(entry->second->name.loc))
            << "the first declaration";
      else if (findLayer(block.name.name))
        diagnostics.error(block.name.loc)
            << quote(block.name.name) << " is a kind of layer; choose another name for the block";
    }
}

//===- Instances ------------------------------------------------------------------------------===//

Instance &Elaborator::makeInstance(const BlockDecl &decl, const LayerDecl *site, Instance *parent,
                                   StringRef path) {
  Instance &instance = *model.instances.emplace_back(std::make_unique<Instance>());
  instance.decl = &decl;
  instance.site = site;
  instance.parent = parent;
  instance.path = path;
  instance.scope.outer = model.scope.get();
  return instance;
}

bool Elaborator::bindParameters(Instance &instance, ArrayRef<PassedArgument> passed) {
  const BlockDecl &decl = *instance.decl;
  SmallVector<StringRef> names;
  for (const ConstDecl &parameter : decl.parameters)
    names.push_back(parameter.name.name);
  auto result = bindByName(decl.name.name, names, passed, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&result)) {
    diagnostics.error(problem->loc)
            .append(problem->message)
            .attachNote(diagnostics.translate(decl.name.loc))
        << "declared here";
    return false;
  }
  auto &bound = std::get<0>(result);
  for (auto [parameter, argument] : llvm::zip(decl.parameters, bound))
    if (!argument && !parameter.value) {
      diagnostics.error(instance.site->type.loc)
              .append(quote(decl.name.name), " needs its argument ", quote(parameter.name.name))
              .attachNote(diagnostics.translate(parameter.name.loc))
          << "declared here";
      return false;
    }
  // A default may use the parameters before it.
  Evaluator evaluator(diagnostics, context, instance.scope, model.budget);
  for (auto [parameter, argument] : llvm::zip(decl.parameters, bound))
    declare(instance.scope, "constant", parameter.name,
            argument ? argument->value : evaluator.evaluate(*parameter.value), diagnostics, context,
            /*mayHide=*/!decl.isModel);
  return true;
}

void Elaborator::addMembers(Instance &instance, ArrayRef<MemberPtr> members, Scope &scope) {
  if (members.empty())
    return;
  if (depth == kMaxMemberDepth) {
    diagnostics.error(members.front()->loc) << "blocks and loops are nested more than "
                                            << kMaxMemberDepth << " deep; flatten some of them";
    isTooLarge = true;
    return;
  }
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  for (const MemberPtr &member : members) {
    if (isOver() || !model.budget.spend(1, member->loc, diagnostics))
      return;
    switch (member->kind) {
    case Member::Kind::constant:
      addConstant(instance, llvm::cast<ConstMember>(*member).decl, scope);
      break;
    case Member::Kind::state:
      addState(instance, llvm::cast<StateDecl>(*member), scope);
      break;
    case Member::Kind::layer:
      addLayers(instance, llvm::cast<LayerDecl>(*member), scope, 0);
      break;
    case Member::Kind::loop:
      addLoop(instance, llvm::cast<LoopMember>(*member), scope);
      break;
    case Member::Kind::branch:
      addBranch(instance, llvm::cast<BranchMember>(*member), scope);
      break;
    }
  }
}

void Elaborator::addConstant(Instance &instance, const ConstDecl &decl, Scope &scope) {
  Item value = Evaluator(diagnostics, context, scope, model.budget).evaluate(*decl.value);
  declare(scope, "constant", decl.name, std::move(value), diagnostics, context,
          /*mayHide=*/!instance.decl->isModel);
}

void Elaborator::addState(Instance &instance, const StateDecl &decl, Scope &scope) {
  const Identifier &name = decl.port.name;
  if (instance.states.contains(name.name)) {
    if (repeatedStates.insert(&decl).second)
      diagnostics.error(name.loc)
          << "state " << quote(name.name)
          << " has been declared before; choose another name, or put it into a block of which "
             "each has its own";
    return;
  }
  if (model.states.size() == kMaxStates) {
    diagnostics.error(name.loc) << "the model has more than " << kMaxStates
                                << " states; join some of them";
    isTooLarge = true;
    return;
  }
  const Scope::Entry *known = scope.find(name.name);
  SMLoc other = known ? known->loc : SMLoc();
  if (instance.decl->forward)
    for (const Port &port : instance.decl->forward->inputs)
      if (port.name.name == name.name)
        other = port.name.loc;
  if (dtypeOf(name.name, context) || name.name.contains('.')) {
    diagnostics.error(name.loc) << quote(name.name) << " cannot be the name of a state: it is a "
                                << (name.name.contains('.') ? "path" : "dtype")
                                << "; choose another name";
  } else if (other.isValid()) {
    diagnostics.error(name.loc)
            .append(quote(name.name),
                    " is a dim, a constant or an input already; choose another name for the state")
            .attachNote(diagnostics.translate(other))
        << "declared here";
  }
  Evaluator evaluator(diagnostics, context, scope, model.budget);
  StringRef path =
      model.save(instance.path.empty() ? Twine(name.name) : instance.path + "." + name.name);
  instance.states[name.name] = model.states.size();
  model.states.push_back(
      {path, name.loc, portType(decl.port, evaluator, model.symbols, diagnostics, context)});
}

void Elaborator::addLoop(Instance &instance, const LoopMember &loop, Scope &scope) {
  auto values = Evaluator(diagnostics, context, scope, model.budget).evaluateLoop(loop.head);
  if (!values)
    return;
  for (Item &value : *values) {
    if (isOver())
      return;
    Scope inner;
    inner.outer = &scope;
    inner.names[loop.head.variable.name] = {std::move(value), loop.head.variable.loc};
    addMembers(instance, loop.body, inner);
  }
}

void Elaborator::addBranch(Instance &instance, const BranchMember &branch, Scope &scope) {
  for (const BranchMember::Arm &arm : branch.arms) {
    std::optional<bool> condition = true;
    if (arm.condition)
      condition =
          Evaluator(diagnostics, context, scope, model.budget).evaluateCondition(*arm.condition);
    if (!condition)
      return;
    if (*condition)
      return addMembers(instance, arm.body, scope);
  }
}

//===- Layers ---------------------------------------------------------------------------------===//

void Elaborator::addLayers(Instance &instance, const LayerDecl &decl, Scope &scope, size_t loop) {
  if (loop == decl.loops.size())
    return addLayer(instance, decl, scope);
  const LoopHead &head = decl.loops[loop];
  auto values = Evaluator(diagnostics, context, scope, model.budget).evaluateLoop(head);
  if (!values)
    return;
  for (Item &value : *values) {
    if (isOver())
      return;
    Scope inner;
    inner.outer = &scope;
    inner.names[head.variable.name] = {std::move(value), head.variable.loc};
    addLayers(instance, decl, inner, loop + 1);
  }
}

std::optional<std::string> Elaborator::pathOf(const LayerDecl &decl, Evaluator &evaluator) {
  std::string path = decl.path.name.str();
  for (const PathPiece &piece : decl.rest) {
    path += '.';
    if (!piece.index) {
      path += piece.name.name;
      continue;
    }
    Item item = evaluator.evaluate(*piece.index);
    if (item.isPoison())
      return std::nullopt;
    if (!item.is<int64_t>() || item.as<int64_t>() < 0) {
      diagnostics.error(piece.index->loc)
          << "the index of a layer is " << describe(item, diagnostics.module)
          << "; expected an integer of at least 0";
      return std::nullopt;
    }
    path += std::to_string(item.as<int64_t>());
  }
  return path;
}

bool Elaborator::checkPath(Instance &instance, const LayerDecl &decl, StringRef whole) {
  if (declared.size() == kMaxLayers) {
    diagnostics.error(decl.path.loc)
        << "the model has more than " << kMaxLayers << " layers; make its loops shorter";
    isTooLarge = true;
    return false;
  }
  if (whole.size() > kMaxPathBytes) {
    diagnostics.error(decl.path.loc) << "the name of this layer has " << whole.size()
                                     << " characters; the limit is " << kMaxPathBytes;
    return false;
  }
  auto [entry, isNew] = declared.try_emplace(whole, &decl);
  if (isNew)
    return true;
  // Once for a declaration, however often a loop repeats it.
  if (!repeated.insert(&decl).second)
    return false;
  auto error = diagnostics.error(decl.path.loc);
  error << "layer " << quote(whole) << " has been declared before; choose another name"
        << (entry->second == &decl ? ", as with the number of the loop in 'layer[i]'" : "");
  if (entry->second != &decl)
    error.attachNote(diagnostics.translate(entry->second->path.loc)) << "the first declaration";
  return false;
}

void Elaborator::addLayer(Instance &instance, const LayerDecl &decl, const Scope &scope) {
  Evaluator evaluator(diagnostics, context, scope, model.budget);
  auto path = pathOf(decl, evaluator);
  if (!path)
    return;
  StringRef whole = model.save(instance.path.empty() ? Twine(*path) : instance.path + "." + *path);
  StringRef name = whole.take_back(path->size());
  if (!checkPath(instance, decl, whole))
    return;
  bool isPoisoned = false;
  SmallVector<PassedArgument> passed;
  for (const Argument &argument : decl.arguments) {
    passed.push_back({argument.keyword ? argument.keyword->name : StringRef(),
                      argument.keyword ? argument.keyword->loc : argument.value->loc,
                      evaluator.evaluate(*argument.value)});
    isPoisoned |= passed.back().value.isPoison();
  }
  auto block = blocks.find(decl.type.name);
  if (block == blocks.end() || isPoisoned)
    addLeaf(instance, decl, name, whole, passed, isPoisoned);
  else
    addBlock(instance, decl, *block->second, name, whole, passed);
}

bool Elaborator::checkRecursion(Instance &instance, const LayerDecl &decl, const BlockDecl &block) {
  SmallVector<const Instance *> chain; // from the innermost outwards
  const Instance *same = nullptr;
  for (const Instance *at = &instance; at && !same; at = at->parent) {
    chain.push_back(at);
    if (at->decl == &block)
      same = at;
  }
  if (!same) {
    if (chain.size() < kMaxBlockDepth)
      return true;
    diagnostics.error(decl.type.loc)
        << "blocks are nested more than " << kMaxBlockDepth << " deep; flatten some of them";
    return false;
  }
  std::string text = block.name.name.str();
  for (const Instance *at : llvm::reverse(ArrayRef(chain).drop_back()))
    text += (" -> " + at->decl->name.name).str();
  text += (" -> " + block.name.name).str();
  diagnostics.error(decl.type.loc)
          .append("block ", quote(block.name.name), " contains itself: ", text,
                  "; a block cannot be part of its own layers")
          .attachNote(diagnostics.translate(block.name.loc))
      << "declared here";
  return false;
}

void Elaborator::addChild(Instance &instance, StringRef name, LayerRef ref) {
  instance.children[name] = ref;
  for (size_t dot = name.find('.'); dot != StringRef::npos; dot = name.find('.', dot + 1))
    instance.prefixes.insert(name.take_front(dot));
  auto [group, number] = name.rsplit('.');
  if (!number.empty() && llvm::all_of(number, llvm::isDigit))
    instance.groups[group].push_back(ref);
}

void Elaborator::addBlock(Instance &instance, const LayerDecl &decl, const BlockDecl &block,
                          StringRef name, StringRef whole, ArrayRef<PassedArgument> passed) {
  diagnostics.mention(Mention::Kind::block, decl.type.name, block.name.loc,
                      [&] { return signatureOf(block); });
  if (!checkRecursion(instance, decl, block)) {
    addLeaf(instance, decl, name, whole, passed, /*isPoisoned=*/true);
    return;
  }
  Instance &inner = makeInstance(block, &decl, &instance, whole);
  addChild(instance, name, {&inner, whole});
  Diagnostics::InBlock in(diagnostics, whole, "declared here", decl.path.loc);
  inner.isBroken = !bindParameters(inner, passed);
  if (!inner.isBroken)
    addMembers(inner, block.members, inner.scope);
}

void elaborate(Model &model, const BlockDecl &decl,
               const llvm::StringMap<const BlockDecl *> &blocks, Diagnostics &diagnostics,
               MLIRContext *context) {
  Elaborator elaborator(model, blocks, diagnostics, context);
  Instance &root = elaborator.makeInstance(decl, nullptr, nullptr, "");
  root.isCalled = true;
  if (elaborator.bindParameters(root, {}))
    elaborator.addMembers(root, decl.members, root.scope);
}

} // namespace dlc::frontend
