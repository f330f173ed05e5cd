//===- TensorLiteral.cpp - tensor([[1, 2], [3, 4]]) in forward ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/Elaborate.h"
#include "frontend/dl/lower/ForwardLowering.h"

using namespace mlir;

namespace dlc::frontend {

/// Each number is an operand of the op that joins them: more belong in the file of the weights.
static constexpr size_t kMostNumbers = 256;

namespace {
/// The numbers of nested lists in row-major order, and the dims of the lists.
struct Literal {
  dl::SymbolNames names; // of dims in messages
  SmallVector<const Item *> numbers = {};
  SmallVector<int64_t> dims = {};

  /// Reads `item`, `depth` lists deep. A message where it does not fit what was read before; empty
  /// where all is well.
  std::string read(const Item &item, size_t depth);
};
} // namespace

std::string Literal::read(const Item &item, size_t depth) {
  if (!item.is<Item::List>()) {
    bool isScalar = item.isTensor() && item.tensorType().getRank() == 0;
    if (!isScalar && !item.isNumber() && !item.isDim())
      return "holds " + describe(item, names) +
             "; expected numbers, or lists of them of one length";
    if (depth != dims.size() && !numbers.empty())
      return "holds " + describe(item, names) +
             " beside a list; expected lists of one depth and length";
    numbers.push_back(&item);
    return numbers.size() <= kMostNumbers
               ? std::string()
               : "has more than " + std::to_string(kMostNumbers) +
                     " numbers; declare a Buffer, whose numbers the file of the weights holds";
  }
  const auto &list = item.as<Item::List>();
  auto length = static_cast<int64_t>(list.size());
  if (list.empty())
    return "holds an empty list; expected at least one number, or zeros(0)";
  if (depth == dims.size() && numbers.empty())
    dims.push_back(length);
  else if (depth >= dims.size() || dims[depth] != length)
    return "holds " + describe(item, names) + " beside " +
           (depth < dims.size() ? "a list of " + std::to_string(dims[depth]) : "a number") +
           "; expected lists of one depth and length";
  for (const Item &element : list)
    if (std::string problem = read(element, depth + 1); !problem.empty())
      return problem;
  return {};
}

Item ForwardLowering::callTensor(llvm::SMLoc loc, ArrayRef<PassedArgument> arguments) {
  auto result = bindByName("tensor", {"data", "dtype"}, arguments, diagnostics.module);
  if (auto *problem = std::get_if<BindError>(&result)) {
    diagnostics.error(problem->loc) << problem->message;
    return poison(loc);
  }
  auto bound = std::get<0>(result);
  if (!bound[0] || (bound[1] && !bound[1]->value.is<Type>())) {
    diagnostics.error(loc) << "'tensor' takes numbers in lists and a dtype, as in tensor([1.0, "
                              "2.0], dtype=f32), got "
                           << (bound[0] ? describe(bound[1]->value, diagnostics.module)
                                        : std::string("no numbers"));
    return poison(loc);
  }
  Literal literal{diagnostics.module};
  if (std::string problem = literal.read(bound[0]->value, 0); !problem.empty()) {
    diagnostics.error(bound[0]->loc) << "'tensor' " << problem;
    return poison(loc);
  }
  Location place = diagnostics.translate(loc);
  Type dtype = bound[1] ? bound[1]->value.as<Type>() : emitter.promote(literal.numbers);
  Item::List elements;
  for (const Item *number : literal.numbers) {
    Value element = number->isTensor() ? emitter.cast(place, number->as<Value>(), dtype)
                                       : emitter.full(place, *number, dl::makeTensor({}, dtype));
    if (!element)
      return poison(loc);
    elements.push_back({element, loc});
  }
  if (literal.dims.empty())
    return elements.front();
  Item joined = call("stack", loc, {{{}, loc, {std::move(elements), loc}}});
  if (literal.dims.size() == 1 || !joined.isTensor())
    return joined;
  dl::Dims dims;
  for (int64_t dim : literal.dims)
    dims.push_back(dl::constantDim(dim, context));
  return {emitter.reshape(place, joined.as<Value>(), dims), loc};
}

} // namespace dlc::frontend
