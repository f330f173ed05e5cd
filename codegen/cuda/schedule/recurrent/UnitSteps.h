//===- UnitSteps.h - Steps whose hidden units blocks share --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All steps of a recurrence in one cooperative launch. States pass through the memory that blocks
// exchange. The first one is there in two copies: a step reads one and writes the other, so that
// one meeting of the grid ends it. With a projection there is a second meeting. A block knows from
// the grid how many units it has.
//
// Layers of a stack run in waves: wave w takes step w of the lowest layer, step w - 1 of the next
// one, and so on, so that one meeting ends a step of each. What a layer multiplies of the layer
// below is the copy of its states that this layer itself reads in the same wave.
//
// A schedule says how a block multiplies: by its lanes (SharedRecurrentKernel.cpp) or on tensor
// cores (TensorRecurrentKernel.cpp).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_UNITSTEPS_H
#define DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_UNITSTEPS_H

#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/PlanQuestion.h"
#include "codegen/cuda/schedule/recurrent/RecurrentChoice.h"
#include "codegen/cuda/schedule/recurrent/RecurrentElements.h"

namespace dlc::codegen {

/// The shape of a step of `ops`, which are of one shape and run side by side, or of a wave of them,
/// with a batch in the middle of its range; nullopt where blocks never share it.
std::optional<StepShape> stepShape(llvm::ArrayRef<RecurrentOpInterface> ops,
                                   llvm::ArrayRef<dl::Range> symbols);
/// The shape of a step of the recurrences that `question` is about; nullopt if blocks cannot share
/// it.
std::optional<StepShape> sharedStepOf(PlanQuestion &question);
/// Nanoseconds that all steps or waves of these recurrences are estimated to take, if one takes
/// `clocks`.
double nanosecondsOfSteps(PlanQuestion &question, double clocks);
/// The largest power of two that divides `length`, at most `most`, which is one.
int64_t widthOf(int64_t length, int64_t most);

/// One of the recurrences of a kernel.
struct UnitCell {
  RecurrentOpInterface op;
  int64_t number, count;  // of those side by side
  int64_t layer, layers;  // of a stack, from the lowest one on
  mlir::AffineExpr begin; // of its states in the memory that blocks exchange, in floats
};

class UnitSteps : protected RecurrentElements {
public:
  /// Builds the kernel for at most `blocks` blocks, which keep columns of `lists` in shared memory
  /// beside `fixedBytes`; `make` says how each of its recurrences is multiplied.
  static void build(KernelBuilder &k,
                    llvm::function_ref<std::unique_ptr<UnitSteps>(const UnitCell &cell)> make,
                    int64_t blocks, llvm::ArrayRef<abi::KeptColumns> lists, int64_t fixedBytes);
  virtual ~UnitSteps() = default;

protected:
  /// One of the two lists of columns that blocks divide among them: those of the weights,
  /// [groups][columns][length], or of the projection.
  struct Columns {
    llvm::StringRef role;
    /// One matrix, or that for the states of the layer below before it.
    llvm::SmallVector<mlir::Value, 2> matrices;
    int64_t groups, columns, length, bytes;
    const Columns *before; // in shared memory
    int64_t stored;        // elements of a row of what the product gives
    int64_t begin;         // of its lines in a column of a stack, in bytes
  };
  using Before =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value row, mlir::Value column)>;
  /// Ends one column of one row; gives the state that it has computed.
  using Finish = llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value column,
                                                llvm::ArrayRef<mlir::Value> sums,
                                                llvm::ArrayRef<mlir::Value> prior)>;
  using Initial = llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value column)>;
  /// How the states that products read lie in the memory that blocks exchange.
  struct ProductStates {
    bool areRounded; // of 16 bits, and in rows of a multiple of `padding` elements
    int64_t padding;
  };

  UnitSteps(KernelBuilder &k, const UnitCell &cell, ProductStates form);

  /// Begins to bring this block's columns of one matrix into shared memory.
  virtual void keep(const Columns &columns) = 0;
  /// Fills rounded states that `columns` are multiplied with, from `from` on.
  virtual void beginRounded(const Columns &columns, mlir::Value from, Initial value) {}
  /// For each row and each of this block's columns: `finish` with the sums of the states that lie
  /// at `from`, a place for each matrix, times the lines of the column, and with what `before`
  /// gave. Its result goes to `to` where states are rounded; elsewhere it has stored the result
  /// itself.
  virtual void multiply(const Columns &columns, mlir::ValueRange from, mlir::Value to,
                        Before before, Finish finish) = 0;

  /// A call of a function of `header`, with the bodies that `roles` are the parameters of.
  dlk::CallOp call(llvm::StringRef callee, llvm::StringRef header, mlir::DictionaryAttr config,
                   llvm::ArrayRef<llvm::ArrayRef<llvm::StringRef>> roles, mlir::ValueRange values,
                   mlir::Value exchanged = {});
  /// The two bodies of a call that multiplies `columns`.
  void fillBodies(dlk::CallOp call, const Columns &columns, Before before, Finish finish);
  /// A Config of `columns` and these numbers, and of which recurrence it is where there are
  /// several.
  mlir::DictionaryAttr configOf(const Columns &columns,
                                llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> numbers);
  /// Elements of a row of states of this length, as products read them.
  int64_t padded(int64_t length) const {
    return (length + form.padding - 1) / form.padding * form.padding;
  }

  mlir::Value exchange;

private:
  /// Where the states are in the memory that blocks exchange, in floats, after its counters.
  struct Places {
    mlir::AffineExpr copies[2];                    // of the first state, as products read it
    mlir::AffineExpr first;                        // the same in f32; null where the copies are
    llvm::SmallVector<mlir::AffineExpr, 2> states; // the others, [rows][units]
    mlir::AffineExpr whole;                        // before the projection, [rows][units]
    mlir::AffineExpr end;
  };
  /// A step: its number, the copies that it reads and writes, and the copy of the states of the
  /// layer below that it reads, where there is one.
  struct Turn {
    mlir::Value number, from, to, below;
  };

  Places layOut() const;
  /// Element [row][column] of a part of the memory.
  mlir::Value place(mlir::Value part, mlir::Value row, int64_t width, mlir::Value column) {
    return k.add(part, k.add(k.mul(row, width), column));
  }
  mlir::Value place(mlir::AffineExpr part, mlir::Value row, int64_t width, mlir::Value column) {
    return place(k.index(part), row, width, column);
  }
  /// The first state in f32 as a step finds it, and as it leaves it.
  mlir::Value oldFirst(const Turn &turn) {
    return form.areRounded ? k.index(space.first) : turn.from;
  }
  mlir::Value newFirst(const Turn &turn) {
    return form.areRounded ? k.index(space.first) : turn.to;
  }
  /// The buffer of a result of the op; null where the kernel does not give it.
  mlir::Value output(unsigned result);
  void nameArguments();
  void keepAll(llvm::ArrayRef<abi::KeptColumns> lists);
  void begin();
  void end(mlir::Value from, mlir::Value to);
  void overGrid(mlir::AffineExpr elements, llvm::function_ref<void(mlir::Value at)> body);
  void overStates(llvm::function_ref<void(unsigned state, mlir::Value at)> body);
  mlir::Value isActive(mlir::Value row, mlir::Value number, mlir::Value &length);
  mlir::Value timeOf(mlir::Value row, mlir::Value number, mlir::Value length);
  mlir::Value either(mlir::Value active, llvm::function_ref<mlir::Value()> step,
                     llvm::function_ref<void()> rest);
  llvm::SmallVector<mlir::Value> beforeUnit(const Turn &turn, mlir::Value row, mlir::Value unit);
  mlir::Value hasStep(mlir::Value wave);
  void units(const Turn &turn);
  void outputs(const Turn &turn);

  UnitCell cell;
  dl::LinearOp product; // of the states of the layer below, that gives the gates; null without one
  ProductStates form;
  Places space;
  Columns weights = {}, projection = {};
  mlir::Value block, thread;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_RECURRENT_UNITSTEPS_H
