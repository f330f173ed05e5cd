//===- KernelTemplateText.cpp - Calls of kernel templates as CUDA C++ ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/print/KernelPrinter.h"

#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace dlc::codegen {

void KernelPrinter::lambda(dlk::CallOp op, unsigned position) {
  Block &body = op.getBodies()[position].front();
  auto roles = cast<ArrayAttr>(op.getRoles()[position]);
  size_t mark = names.open();
  line() << "[&](";
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    std::string name = names.fresh(cast<StringAttr>(roles[number]).getValue());
    named[argument] = name;
    std::string type = typeOf(argument, op);
    bool isVector = isa<VectorType>(argument.getType());
    os << (number ? ", " : "") << "const " << type << (isVector ? " &" : " ") << name;
  }
  Value value = cast<dlk::GiveOp>(body.getTerminator()).getValue();
  os << ")" << (value ? " -> " + typeOf(value, op) : std::string()) << " {\n";
  block(body, {});
  line() << "}";
  names.close(mark);
}

void KernelPrinter::call(dlk::CallOp op) {
  flushReads();
  auto type = cpp::typeName(op.getType(), indexBits);
  if (!type)
    return error(op, "no C++ type for the operands of a template");
  // Numbers by their names: a list of template arguments would not say which is which. The name
  // stays taken to the end of the block, like the struct.
  std::string config = names.fresh("config");
  line() << "struct " << config << " {\n";
  ++depth;
  line() << "using type = " << *type << ";\n";
  line() << "using index = " << *cpp::typeName(IndexType::get(op.getContext()), indexBits) << ";\n";
  line() << "enum {";
  for (auto [position, number] : llvm::enumerate(op.getConfig()))
    os << (position ? ", " : " ") << number.getName().getValue() << " = "
       << cast<IntegerAttr>(number.getValue()).getInt();
  os << " };\n";
  --depth;
  line() << "};\n";
  std::string arguments;
  for (Value value : op->getOperands()) {
    bool isNone = isa_and_nonnull<ub::PoisonOp>(value.getDefiningOp());
    bool isMap = isa<dlk::TensorMapType>(value.getType());
    arguments += (arguments.empty() ? "" : ", ") + (isNone  ? "nullptr"
                                                    : isMap ? "&" + textOf(value).text
                                                            : textOf(value).text);
  }
  line() << "dlc::" << op.getCallee() << "<" << config << ">(\n";
  depth += 2;
  if (!arguments.empty())
    line() << arguments << (op.getBodies().empty() ? "" : ",\n");
  for (unsigned body = 0; body < op.getBodies().size() && !failed; ++body) {
    lambda(op, body);
    os << (body + 1 < op.getBodies().size() ? ",\n" : "");
  }
  os << ");\n";
  depth -= 2;
}

} // namespace dlc::codegen
