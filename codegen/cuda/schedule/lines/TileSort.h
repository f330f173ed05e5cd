//===- TileSort.h - A block sorts keys with their places ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_LINES_TILESORT_H
#define DLC_CODEGEN_CUDA_SCHEDULE_LINES_TILESORT_H

#include "codegen/cuda/schedule/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace dlc::codegen {

/// Elements of a tile: with 12 bytes each they fill the static shared memory of a block.
inline constexpr int64_t kMostTileElements = 4096;
inline constexpr int64_t kMostTileThreads = 512;

/// Bitonic sorts of a tile in shared memory, or of keys in the memory of the device. Keys are
/// compared without sign, equal ones by their places, which are all different: the order is one,
/// whoever compares first.
class TileSort {
public:
  /// Keys and places, in shared memory or in that of the device from `first` on.
  struct Elements {
    mlir::Value keys, places, first;
  };

  /// Takes shared memory for lines of up to `longest` elements (nullopt: any number), a power of
  /// two of them at a time.
  TileSort(KernelBuilder &k, std::optional<int64_t> longest, mlir::Type keyType);

  /// Puts `length` elements of the tile in order, for all threads to see.
  void sort(mlir::Value length);
  /// `steps` steps from `stride` on, each half as wide as the one before; the mirrored one is
  /// number `firstStep` (null: none is).
  void walk(const Elements &elements, mlir::Value length, mlir::Value pairs, mlir::Value steps,
            mlir::Value stride, mlir::Value firstStep);
  /// Runs `body` for the numbers below `count`, shared out among the threads.
  void forEach(llvm::StringRef role, mlir::Value count, llvm::function_ref<void(mlir::Value)> body);
  mlir::Value at(const Elements &elements, mlir::Value index) {
    return elements.first ? k.add(elements.first, index) : index;
  }

  int64_t tile, threads;
  mlir::Value thread;
  Elements shared;

private:
  void compare(const Elements &elements, mlir::Value length, mlir::Value pairs, mlir::Value stride,
               mlir::Value isFirst);
  mlir::Value is(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(k.b, k.loc, predicate, a, b);
  }
  mlir::Value subtract(mlir::Value a, mlir::Value b) {
    return k.b.createOrFold<mlir::arith::SubIOp>(k.loc, a, b);
  }

  KernelBuilder &k;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_LINES_TILESORT_H
