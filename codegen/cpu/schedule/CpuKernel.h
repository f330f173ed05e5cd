//===- CpuKernel.h - The function of one CPU kernel while it is filled --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The base of all CPU schedules: the function's signature over flat buffers, its loops, and loads
// and stores of elements, either one at a time or as a vector along one loop variable.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_SCHEDULE_CPUKERNEL_H
#define DLC_CODEGEN_CPU_SCHEDULE_CPUKERNEL_H

#include "codegen/cpu/image/CpuCode.h"
#include "codegen/plan/BodyEmitter.h"
#include "codegen/plan/PackOperand.h"
#include "ir/dl/composite/AttentionParts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc::codegen {

/// A loop variable along which values are vectors.
struct VectorLoop {
  mlir::AffineExpr variable; // bound to the index of the first lane
  int64_t lanes;
  mlir::Value mask;      // lanes in use; null: all
  bool isTested = false; // any lane may be out of use, the first one too
};

class CpuKernel {
public:
  /// Starts a function named as `kernel` at the end of `module`. Its arguments: the kernel's inputs
  /// and its results as memref<?xT>, the used symbols, begin and end of the tile range, scratch
  /// memory.
  CpuKernel(dlx::KernelOp kernel, IsaVariant isa, llvm::ArrayRef<dl::Range> symbols,
            mlir::ModuleOp module);

  IsaVariant isa;
  IndexMath math;
  BodyEmitter emitter;
  /// The parts of the kernel's body where it is an attention, which was expanded.
  std::optional<dl::AttentionParts> attention;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Value begin, end; // of the tile range

  /// Values are vectors along this while it is set.
  std::optional<VectorLoop> vector;
  /// While set, scalar loads read offset 0 where it is false: the value is not used there, the
  /// address may not exist.
  mlir::Value guard;
  /// While set, applied to every offset before it is used.
  std::function<mlir::AffineExpr(mlir::AffineExpr)> rewriteOffset;
  /// While set, asked where the element of an input lies instead: a buffer and an offset, or
  /// nullopt for its own.
  using Place = std::optional<std::pair<mlir::Value, mlir::AffineExpr>>;
  std::function<Place(unsigned input, mlir::AffineExpr offset)> redirect;

  /// Returns an emitter for a part of a kernel that has several ops with stages: the one that ends
  /// in `result`, which maps make of the result of `root`.
  BodyEmitter emitterOf(LoopNestOpInterface root, mlir::Value result);

  /// Elements of 32 bits in a vector register.
  int64_t lanes() const { return isa == IsaVariant::avx2 ? 8 : 16; }
  /// Elements that the vectors of rows have: as many of the widest that the kernel computes with as
  /// fill a register, at least lanes() of them.
  int64_t rowLanes() const { return lanesOfRows; }
  /// The symbols passed behind the buffers, for dlx.kernel's `dims`.
  mlir::AffineMap passedDims() const;

  mlir::Value index(int64_t value);
  mlir::Value value(mlir::AffineExpr expr) { return math.materialize(builder, loc, expr); }
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, mlir::Value b);    // of numbers >= 0
  mlir::Value remainder(mlir::Value a, mlir::Value b); // of numbers >= 0
  mlir::Value smaller(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value splat(mlir::Value scalar, int64_t lanes);
  /// Binds `variables` (outermost first) to the position `linear` in their iteration space.
  void delinearize(mlir::Value linear, llvm::ArrayRef<mlir::AffineExpr> variables,
                   llvm::ArrayRef<mlir::AffineExpr> extents);
  /// `offset` over `variables` that were bound so to the value of `position`, as an expression of
  /// `position` alone where the steps along them are those of one run of elements; else as it is.
  mlir::AffineExpr alongLinear(llvm::ArrayRef<mlir::AffineExpr> variables,
                               llvm::ArrayRef<mlir::AffineExpr> extents, mlir::AffineExpr position,
                               mlir::AffineExpr offset) const;
  /// The first `count` of `lanes` lanes.
  mlir::Value laneMask(mlir::Value count, int64_t lanes);

  using Body = llvm::function_ref<void(mlir::Value)>;
  /// for (i = from; i < to; i += step) body(i), built at `builder`.
  void forEach(mlir::Value from, mlir::Value to, int64_t step, Body body);
  using Fold = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  /// The same with values carried from step to step.
  llvm::SmallVector<mlir::Value> fold(mlir::Value from, mlir::Value to, int64_t step,
                                      mlir::ValueRange init, Fold body);
  /// while (condition(values)) values = body(values)
  llvm::SmallVector<mlir::Value>
  repeat(mlir::ValueRange init, llvm::function_ref<mlir::Value(mlir::ValueRange)> condition,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);
  using Branch = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  llvm::SmallVector<mlir::Value> branch(mlir::Value condition, mlir::TypeRange types, Branch then,
                                        Branch otherwise);
  void when(mlir::Value condition, llvm::function_ref<void()> then);

  /// Runs `body` over [from, to) of `variable`, first with vectors of rowLanes() while they fit,
  /// then with a part of one, or one by one where the instruction set cannot mask all of the
  /// kernel's elements.
  void forVector(mlir::AffineExpr variable, mlir::Value from, mlir::Value to,
                 llvm::function_ref<void()> body);

  /// Element or vector of kernel input `input` in storage type.
  mlir::Value load(unsigned input, mlir::AffineExpr offset);
  /// Stores `value` (compute type; a scalar is repeated where `vector` is set) into the result.
  void store(mlir::Value value, mlir::AffineExpr offset);
  /// The same into `buffer`.
  void store(mlir::Value value, mlir::AffineExpr offset, mlir::Value buffer);
  /// Computes the value of each result with it selected, of all or of those that have one element a
  /// row or that do not, and stores them at its `offset`. What several are made of is computed
  /// once.
  void storeEach(llvm::function_ref<mlir::Value()> value,
                 llvm::function_ref<mlir::AffineExpr()> offset, std::optional<bool> ofRow = {});
  /// Stores values of the result that lie one after the other, from `offset` on: those of the next
  /// lane follow them. All are vectors along the loop at hand, or none is.
  void storeInterleaved(llvm::ArrayRef<mlir::Value> values, mlir::AffineExpr offset);

  /// A square of a buffer's elements: lines of neighbours `apart` elements apart, the first one at
  /// `first`.
  struct Lines {
    mlir::Value buffer, first, apart;
  };
  /// Copies `count` lines of `length` elements so that neighbours of one become neighbours of the
  /// other: element i of line j goes to element j of line i.
  void copyTurned(const Lines &from, const Lines &to, mlir::Value count, mlir::Value length);

  /// The buffer of kernel input `input`.
  mlir::Value input(unsigned input) const { return buffers[input]; }
  /// The buffer of result `result`.
  mlir::Value output(unsigned result) const { return buffers[numInputs + result]; }
  /// `count` elements of scratch memory from byte `offset` on.
  mlir::Value scratchView(mlir::Type element, int64_t count, int64_t offset = 0) {
    return scratchView(element, index(count), index(offset));
  }
  mlir::Value scratchView(mlir::Type element, mlir::Value count, mlir::Value offset);

  /// Emits `expr`, rewritten as offsets are, as an index. If it moves along the vector loop, the
  /// result is a vector with one index for each lane.
  mlir::Value placesOf(mlir::OpBuilder &at, mlir::AffineExpr expr);

  /// Ends the function.
  void finish();

private:
  BodyEmitter::Load loader();
  BodyEmitter::LaneTests laneTests();
  mlir::Value lanesInside(mlir::OpBuilder &at, mlir::AffineExpr index, mlir::AffineExpr extent);
  mlir::Value withinLanes(mlir::OpBuilder &at, mlir::Value lanes,
                          llvm::function_ref<mlir::Value()> read);
  mlir::Value loadVector(mlir::Value buffer, mlir::AffineExpr offset);
  mlir::Value loadApart(mlir::Value buffer, mlir::AffineExpr offset, int64_t step);
  mlir::Value gather(mlir::Value buffer, mlir::AffineExpr offset);

  llvm::SmallVector<mlir::Value> buffers; // inputs, then the results
  unsigned numInputs = 0;
  bool canMask = true; // loads and stores of all buffers
  int64_t lanesOfRows = 0;
  mlir::Value scratch;
  llvm::SmallVector<unsigned> symbols;
};

/// True where `offset` along `variable` stays or moves by one: what a vector can read without
/// gathering.
bool isVectorAccess(const IndexMath &math, mlir::AffineExpr offset, mlir::AffineExpr variable);
/// The same, or moves by so little that whole vectors are read and the elements between thrown
/// away.
bool isDenseAccess(const IndexMath &math, mlir::AffineExpr offset, mlir::AffineExpr variable);

/// How a schedule asks to be launched: the same for all instruction sets.
struct CpuLaunch {
  mlir::AffineExpr tiles;        // number of tiles, over symbols
  int64_t scratchBytes = 0;      // of scratch memory for each thread
  mlir::AffineExpr scratch = {}; // the same over symbols, where it is not null
  /// Where it is not null, the kernel has so many phases, each of `tiles` tiles: those of phase p
  /// begin at tile p * tiles. All threads share the scratch memory, and meet after each phase.
  mlir::AffineExpr phases = {};
};

/// Elements from one to the next of those that are still read as whole vectors.
inline constexpr int64_t kLargestStep = 4;

/// Indices from `first` on along `dim` of a kernel's result, so many as `extent` says.
struct ResultPart {
  unsigned dim;
  mlir::AffineExpr first, extent;
};

/// One schedule for each shape of kernel; each fills the function and says how many tiles it has.
CpuLaunch scheduleMap(CpuKernel &kernel);
/// A part of the result of a map, or all of it. The function's tiles may begin before those of the
/// part, and end after them.
CpuLaunch scheduleMap(CpuKernel &kernel, std::optional<ResultPart> part);
/// Maps over joined tensors: a map for each of these.
CpuLaunch scheduleJoined(CpuKernel &kernel);
bool isJoinedMap(BodyEmitter &emitter);
/// Reductions, windows, and contractions that the micro-kernel does not take.
CpuLaunch scheduleReduction(CpuKernel &kernel);
/// Depthwise convolutions, several neighbours of the result at once.
CpuLaunch scheduleWindows(CpuKernel &kernel);
bool isWindowProduct(BodyEmitter &emitter, IndexMath &math);
/// Rows of a batch along time, vectors along the hidden units.
CpuLaunch scheduleRecurrentRows(CpuKernel &kernel);
/// Groups of hidden units of all rows, a phase for each step.
CpuLaunch scheduleRecurrentUnits(CpuKernel &kernel);
/// Attention without the scores in memory.
CpuLaunch scheduleAttention(CpuKernel &kernel);
/// Orders and running sums, a line after the other.
CpuLaunch scheduleLines(CpuKernel &kernel);

/// The inputs of `emitter`'s kernel that should be packed for its fast schedule, and how.
llvm::SmallVector<PackedOperand> operandsToPack(BodyEmitter &emitter, IndexMath &math);
inline bool isLines(dlx::KernelOp kernel) { return kernel.getKind() == dlx::KernelKind::lines; }
inline bool isRecurrent(dlx::KernelOp kernel) {
  return kernel.getKind() == dlx::KernelKind::recurrent;
}
/// The weights of a recurrence; its schedules read them in these layouts alone.
llvm::SmallVector<PackedOperand> recurrentOperandsToPack(dlx::KernelOp kernel);
/// True where the kernel is a sum of products whose second operand lies in panels of kPanel
/// columns.
bool isPanelContraction(BodyEmitter &emitter, IndexMath &math);
/// The instruction set from which on none is faster for such a kernel, avx512 for any other.
IsaVariant bestIsaOfContraction(BodyEmitter &emitter, IndexMath &math);
inline bool isBlockSparse(dlx::KernelOp kernel) {
  return kernel.getKind() == dlx::KernelKind::block_sparse;
}
/// Products with the stored blocks of a weight, each kPanel features of one column
/// (dl.block_sparse_linear).
CpuLaunch scheduleBlockSparse(CpuKernel &kernel);
/// Columns of a panel of a packed operand: one AVX-512 register or two AVX2 registers of f32.
inline constexpr int64_t kPanel = 16;

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_SCHEDULE_CPUKERNEL_H
