//===- States.cpp - Inputs and outputs of an ONNX model that are its states ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX has no states: what a model keeps goes out of it and in again. A pair of one type becomes a
// state.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/Importer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc::onnx {

using frontend::quote;

static std::string isNone(StringRef name, StringRef what, ArrayRef<StringRef> names) {
  return ("--state names " + quote(name) + ", which is no " + what + "; it has '").str() +
         llvm::join(names, "', '") + "'" + frontend::didYouMean(name, names);
}

bool Importer::addState(StringRef input, StringRef output, std::optional<int64_t> capacity) {
  SmallVector<StringRef> outputs;
  for (const ValueInfo &info : file.model().graph.outputs)
    outputs.push_back(info.name);
  auto *own = llvm::find(outputs, output);
  if (own == outputs.end()) {
    error(ImportFault::ofCall, isNone(output, "output", outputs));
    return false;
  }
  for (const State &other : states)
    if (other.input == input || other.output == output) {
      error(ImportFault::ofCall, "--state pairs " + quote(input) + " with " + quote(output) +
                                     ", and " + quote(other.input) + " with " +
                                     quote(other.output) + "; expected each once");
      return false;
    }
  states.push_back({input, *own, {}, capacity});
  return true;
}

bool Importer::readStates() {
  SmallVector<StringRef> inputs;
  for (const ValueInfo &info : file.model().graph.inputs)
    if (llvm::none_of(file.model().graph.initializers,
                      [&](const Tensor &tensor) { return tensor.name == info.name; }))
      inputs.push_back(info.name);
  for (const std::string &text : options.states) {
    auto [input, output] = StringRef(text).split('=');
    std::optional<int64_t> capacity;
    if (auto [name, size] = output.rsplit('['); size.consume_back("]")) {
      int64_t number = 0;
      if (size.getAsInteger(10, number) || number < 1 || number > INT32_MAX) {
        error(ImportFault::ofCall, "--state " + quote(text) + ": the cache has " + quote(size) +
                                       " positions; expected a number from 1 to 2^31 - 1, as in "
                                       "past.*=present.*[1024]");
        continue;
      }
      capacity = number;
      output = name;
    }
    size_t stars = input.count('*');
    if (input.empty() || output.empty() || stars > 1 || output.count('*') != stars) {
      error(ImportFault::ofCall, "--state " + quote(text) +
                                     ": expected INPUT=OUTPUT, as in h0=hn, or in "
                                     "past.*=present.*, where both stars stand "
                                     "for the same text, and a cache may say its size: "
                                     "past.*=present.*[1024]");
      continue;
    }
    auto [front, back] = input.split('*');
    auto [newFront, newBack] = output.split('*');
    bool fits = false;
    for (StringRef name : inputs) {
      bool isIt = stars ? name.size() >= front.size() + back.size() && name.starts_with(front) &&
                              name.ends_with(back)
                        : name == input;
      if (!isIt)
        continue;
      fits = true;
      StringRef middle = stars ? name.drop_front(front.size()).drop_back(back.size()) : StringRef();
      if (!addState(name, (newFront + middle + newBack).str(), capacity))
        break;
    }
    if (!fits)
      error(ImportFault::ofCall, isNone(input, "input", inputs));
  }
  return errors == 0;
}

bool Importer::isNextOfState(StringRef output) const {
  return llvm::any_of(states, [&](const State &state) { return state.output == output; });
}

void Importer::declareStates(func::FuncOp function) {
  Block &entry = function.getBody().front();
  SmallVector<Type> types(function.getArgumentTypes());
  unsigned first = types.size();
  for (State &state : states) {
    if (!state.type) // reported
      continue;
    outermost.values[state.input].tensor = entry.addArgument(state.type, function.getLoc());
    types.push_back(state.type);
  }
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < first; ++i)
    attributes.push_back(
        builder.getDictionaryAttr(mlir::function_interface_impl::getArgAttrs(function, i)));
  for (const State &state : states)
    if (state.type)
      attributes.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("dl.name", builder.getStringAttr(state.input)),
           builder.getNamedAttr("dl.state", builder.getUnitAttr())}));
  function.removeArgAttrsAttr();
  function.setFunctionType(builder.getFunctionType(types, {}));
  function.setAllArgAttrs(attributes);
}

/// The size of a state that does not grow is that of inputs.
void Importer::checkSizeOf(const State &state, ArrayRef<Type> inputs) {
  for (auto [position, name] : llvm::enumerate(symbolNames)) {
    auto hasSymbol = [&, position = position](Type type) {
      return llvm::any_of(dl::getDims(llvm::cast<RankedTensorType>(type)),
                          [&](AffineExpr dim) { return dim.isFunctionOfSymbol(position); });
    };
    if (hasSymbol(state.type) && llvm::none_of(inputs, hasSymbol))
      error("state " + quote(state.input) + " is " + dl::text(state.type, module) +
            ", and no input tells " + quote(name) + "; give it a number: --shapes " + state.input +
            ":...");
  }
}

void Importer::finishStates(func::FuncOp function, SmallVectorImpl<mlir::Value> &results) {
  SmallVector<Type> inputs(function.getArgumentTypes());
  inputs.pop_back_n(llvm::count_if(states, [](const State &state) { return state.type; }));
  for (auto [number, state] : llvm::enumerate(states)) {
    mlir::Value tensor = outputNamed(state.output, function.getLoc());
    if (!tensor || !state.type)
      continue;
    results.push_back(tensor);
    if (auto growth = growthOf(state, llvm::cast<RankedTensorType>(tensor.getType()))) {
      growing.push_back({number, *growth});
      continue;
    }
    if (state.capacity)
      error(ImportFault::ofCall,
            "--state gives " + quote(state.input) + " a size of " + llvm::Twine(*state.capacity) +
                ", and it does not grow: it is " + dl::text(state.type, module) +
                ", and its next value " + dl::text(tensor));
    else if (tensor.getType() != state.type)
      error("state " + quote(state.input) + " is " + dl::text(state.type, module) +
            ", and its next value " + quote(state.output) + " " + dl::text(tensor) +
            "; a state keeps its type, or is a cache, whose next value is larger by other dims "
            "along one dim that has a name");
    else
      checkSizeOf(state, inputs);
  }
}

} // namespace dlc::onnx
