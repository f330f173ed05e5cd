// RUN: split-file %s %t
// RUN: not dlc-translate --mlir-to-cuda %t/atomic.mlir 2>&1 | FileCheck %s --check-prefix=ATOMIC
// RUN: not dlc-translate --mlir-to-cuda %t/vector.mlir 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not dlc-translate --mlir-to-cuda %t/rank.mlir 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not dlc-translate --mlir-to-cuda %t/type.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not dlc-translate --mlir-to-cuda %t/block.mlir 2>&1 | FileCheck %s --check-prefix=BLOCK

//--- atomic.mlir
// ATOMIC: error: cuda printer: no text for memref.atomic_rmw, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %0 = memref.atomic_rmw addf %one, %x[%c0] : (f32, memref<?xf32>) -> f32
    gpu.return
  }
}

//--- vector.mlir
// VECTOR: error: cuda printer: no arithmetic on vectors (arith.addf): work on their elements, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<4xf32>
    %w = arith.addf %v, %v : vector<4xf32>
    vector.store %w, %x[%c0] : memref<?xf32>, vector<4xf32>
    gpu.return
  }
}

//--- rank.mlir
// RANK: error: cuda printer: buffer 'x' is not a flat memref of scalars, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?x4xf32> {dlc.role = "x"}) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}

//--- type.mlir
// TYPE: error: cuda printer: no C++ type for f8E5M2, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: f8E5M2) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}

//--- block.mlir
// BLOCK: error: cuda printer: needs a kernel of one block with known_block_size, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel {
    gpu.return
  }
}
