//===- ScalarTape.h - Scalar bodies, run over blocks of elements --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body that an op emits (ScalarOps.def) becomes a list of instructions on registers, each of
// which holds one value for every element of a block: the cost of dispatch is paid once a block.
// Floats are computed in double whatever their type and by the C library's functions, so that
// nothing is shared with the code that targets run.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERPRETER_SCALARTAPE_H
#define DLC_IR_INTERPRETER_SCALARTAPE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace dlc {

/// Elements of a block.
inline constexpr int64_t kBlock = 256;

/// The values of one register over a block: doubles for floats, else integers, sign-extended from
/// their width (bools: 0 or 1).
struct alignas(64) Lanes {
  union {
    double floats[kBlock];
    int64_t ints[kBlock];
  };
};

class ScalarTape {
public:
  /// Compiles the ops of `body`, whose arguments become the first registers. `result` is computed
  /// by them, or is an argument. Every op must be one of ScalarOps.def.
  ScalarTape(mlir::Block &body, mlir::Value result);
  ScalarTape() = default;

  Lanes &argument(unsigned index) { return registers[index]; }
  /// Computes the first `count` lanes.
  const Lanes &run(int64_t count);
  bool resultIsFloat() const { return isFloatResult; }
  /// The register of the result is that of an argument: nothing is computed.
  bool isCopy() const { return instructions.empty(); }

  struct Instruction;

private:
  unsigned registerOf(mlir::Value value);

  std::vector<Instruction> instructions;
  std::vector<Lanes> registers;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  unsigned result = 0;
  bool isFloatResult = false;
};

struct ScalarTape::Instruction {
  using Function = void (*)(const Instruction &, Lanes *registers, int64_t count);
  Function function;
  unsigned to, a, b, c;
  /// Width in bits of the operands and of the result, where they are integers.
  unsigned fromWidth, toWidth;
  mlir::Type fromType, toType;
};

} // namespace dlc

#endif // DLC_IR_INTERPRETER_SCALARTAPE_H
