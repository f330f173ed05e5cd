//===- KernelBuilder.h - The gpu.func under construction ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the schedules of all kinds of kernels share: the function with its arguments, the words for
// arithmetic on index values, loads and stores, and the attributes that record a launch.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_KERNELBUILDER_H
#define DLC_CODEGEN_CUDA_SCHEDULE_KERNELBUILDER_H

#include "codegen/cuda/schedule/DimGroups.h"
#include "codegen/cuda/schedule/KernelView.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/Residence.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace dlc::codegen {

class KernelBuilder : public KernelView {
public:
  /// Starts without a function: until begin(), emitted ops refer to stand-ins for the inputs and
  /// the symbols, and are dropped with the builder. With `part` the kernel serves some shapes.
  KernelBuilder(dlx::KernelOp kernel, llvm::ArrayRef<dl::Range> symbols,
                const std::optional<ShapePart> &part = {});
  /// Begins the function in `module`: its arguments are the buffers of the inputs and of the
  /// results, then the symbols that the kernel uses, as i64.
  void begin(mlir::gpu::GPUModuleOp module);

  mlir::OpBuilder b;
  mlir::Location loc;

  //===- Values -------------------------------------------------------------------------------===//
  mlir::Value index(int64_t value);
  mlir::Value index(mlir::AffineExpr expr) { return math.materialize(b, loc, expr); }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, int64_t rhs) { return mul(lhs, index(rhs)); }
  /// Quotient and remainder of values known not to be negative.
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mod(mlir::Value lhs, mlir::Value rhs);
  mlir::Value less(mlir::Value lhs, mlir::Value rhs);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs); // either may be null: no condition
  /// Gives `value` an identifier in the text.
  mlir::Value named(mlir::Value value, llvm::StringRef role);
  mlir::Value thread() {
    return named(mlir::gpu::ThreadIdOp::create(b, loc, mlir::gpu::Dimension::x), "thread");
  }
  mlir::Value block(mlir::gpu::Dimension dimension, llvm::StringRef role) {
    return named(mlir::gpu::BlockIdOp::create(b, loc, dimension), role);
  }
  /// Cuts `flat` up into the indices of `groups`, the last one moving fastest, and binds their
  /// variables. Where an address turns out to be even in the flat index, it is said that way.
  void bindFlat(mlir::Value flat, llvm::ArrayRef<DimGroup> groups);
  /// The same where the indices are known: `flat` counts them.
  void bindFlat(mlir::Value flat, mlir::ValueRange indices, llvm::ArrayRef<DimGroup> groups);
  /// `expr` over one flat index of all `groups`, and that index; no expression where quotients
  /// would be left.
  std::pair<mlir::AffineExpr, mlir::AffineExpr> overFlat(mlir::AffineExpr expr,
                                                         llvm::ArrayRef<DimGroup> groups);
  /// Says that `variable` equals what `other` was bound to by bindFlat.
  void sameAs(mlir::AffineExpr variable, mlir::AffineExpr other);
  /// `offset` as an index value, in its shortest form.
  mlir::Value address(mlir::OpBuilder &builder, mlir::AffineExpr offset);

  //===- Control ------------------------------------------------------------------------------===//
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value variable,
                                                                 mlir::ValueRange carried)>;
  /// How often a loop is unrolled: as the device compiler likes, never, by eight, or fully.
  enum class Unroll { automatic, never, byEight, full };
  /// for (role = from; role < to; role += step); `names` are of the carried values.
  mlir::ValueRange loop(llvm::StringRef role, mlir::Value from, mlir::Value to, int64_t step,
                        mlir::ValueRange inits, llvm::ArrayRef<llvm::StringRef> names,
                        Unroll unroll, Body body);
  mlir::ValueRange loop(llvm::StringRef role, mlir::Value from, mlir::Value to, mlir::Value step,
                        mlir::ValueRange inits, llvm::ArrayRef<llvm::StringRef> names,
                        Unroll unroll, Body body);
  /// The same without carried values.
  void loop(llvm::StringRef role, mlir::Value from, mlir::Value to, int64_t step, Unroll unroll,
            llvm::function_ref<void(mlir::Value)> body);
  /// Runs `then` under `condition`, or always where it is null.
  void when(mlir::Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = {});
  /// condition ? value() : fallback; value() alone where the condition is null. `otherwise` runs
  /// where the fallback is taken.
  mlir::Value choose(mlir::Value condition, llvm::function_ref<mlir::Value()> value,
                     mlir::Value fallback, llvm::function_ref<void()> otherwise = {});
  /// The same of several values, and no condition means all of them.
  llvm::SmallVector<mlir::Value>
  chooseAll(mlir::Value condition, llvm::function_ref<llvm::SmallVector<mlir::Value>()> values,
            mlir::ValueRange fallback, llvm::function_ref<void()> otherwise = {});
  void barrier() { mlir::gpu::BarrierOp::create(b, loc); }

  //===- Memory -------------------------------------------------------------------------------===//
  mlir::Value shared(llvm::ArrayRef<int64_t> shape, mlir::Type element, llvm::StringRef role);
  mlir::Value local(llvm::ArrayRef<int64_t> shape, mlir::Type element, llvm::StringRef role);
  mlir::Value read(mlir::Value memref, llvm::ArrayRef<mlir::Value> at);
  void write(mlir::Value memref, llvm::ArrayRef<mlir::Value> at, mlir::Value value);
  /// The buffer of an input, of the result.
  mlir::Value input(unsigned position) { return arguments->getArgument(position); }
  /// Gives the buffer of an input an identifier in the text.
  void nameInput(unsigned position, llvm::StringRef role) {
    if (function)
      function.setArgAttr(position, "dlc.role", b.getStringAttr(role));
  }
  std::string inputRole(unsigned position) {
    return llvm::cast<mlir::StringAttr>(function.getArgAttr(position, "dlc.role")).str();
  }
  mlir::Value output(unsigned result = 0) {
    unsigned inputs = kernel.getBodyBlock().getNumArguments() + (kernel.getExchange() ? 1 : 0);
    return function.getArgument(inputs + result);
  }
  /// Memory of so many elements that the blocks of a launch exchange (Storage::exchange of
  /// module.fbs), the counters at its beginning among them: a parameter after the inputs'. At most
  /// one, and only where mayExchange().
  mlir::Value exchange(mlir::AffineExpr elements, mlir::Type element);
  /// Waits for all blocks of a cooperative launch, by a counter of `exchange`.
  void gridBarrier(mlir::Value exchange);
  /// A parameter that describes an operand to TMA, behind all others.
  mlir::Value tensorMap(llvm::StringRef role);
  /// Stores the selected result's value of compute type at `offset` elements.
  void store(mlir::AffineExpr offset, mlir::Value value);
  /// Replaces the plain load of one element while it is set.
  BodyEmitter::Load customLoad;

  //===- The launch ---------------------------------------------------------------------------===//
  /// Text for sm_90a alone, launched with as many blocks as the GPU has multiprocessors where the
  /// grid has more. `maps` describes the tensor maps to the runtime (`tensor_maps` of dlx.kernel).
  void makePersistentForHopper(llvm::ArrayRef<mlir::Attribute> maps);
  /// The same text, launched with the grid's blocks in clusters of so many.
  void makeClustersForHopper(llvm::ArrayRef<mlir::Attribute> maps, int64_t blocks);
  /// The template that the kernel calls waits for the kernels before: what it reads of weights may
  /// come earlier.
  void beginGridInTemplate();
  /// Any smaller grid does the same: launched with as many blocks as the GPU has multiprocessors
  /// where there are more.
  void makePersistent();
  /// The same, and the blocks keep columns of weights in shared memory beside what finish() asks
  /// for.
  void makePersistent(llvm::ArrayRef<abi::KeptColumns> kept);
  /// Ends the function and records how it is launched, with bytes of dynamic shared memory.
  void finish(int64_t threads, llvm::ArrayRef<mlir::AffineExpr> grid, int64_t dynamicShared = 0);

private:
  /// 32 where every offset into every buffer, and the slack of a launch beyond it, stays below
  /// 2^31.
  unsigned indexBits() const;

  llvm::DenseMap<mlir::AffineExpr, mlir::AffineExpr>
      cut;              // group variables as quotients and remainders of flat indices
  mlir::Block standIns; // has arguments for the inputs and the symbols
  mlir::Block *arguments = &standIns;
  mlir::gpu::GPUFuncOp function;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_KERNELBUILDER_H
