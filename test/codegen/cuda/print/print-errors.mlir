// RUN: split-file %s %t
// RUN: not dlc-translate --mlir-to-cuda %t/atomic.mlir 2>&1 | FileCheck %s --check-prefix=ATOMIC
// RUN: not dlc-translate --mlir-to-cuda %t/vector.mlir 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: not dlc-translate --mlir-to-cuda %t/rank.mlir 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not dlc-translate --mlir-to-cuda %t/type.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not dlc-translate --mlir-to-cuda %t/block.mlir 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not dlc-translate --mlir-to-cuda %t/result.mlir 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not dlc-translate --mlir-to-cuda %t/expression.mlir 2>&1 | FileCheck %s --check-prefix=EXPRESSION
// RUN: not dlc-translate --mlir-to-cuda %t/value.mlir 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not dlc-translate --mlir-to-cuda %t/constant.mlir 2>&1 | FileCheck %s --check-prefix=CONSTANT
// RUN: not dlc-translate --mlir-to-cuda %t/insert.mlir 2>&1 | FileCheck %s --check-prefix=INSERT
// RUN: not dlc-translate --mlir-to-cuda %t/shared.mlir 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not dlc-translate --mlir-to-cuda %t/local.mlir 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: not dlc-translate --mlir-to-cuda %t/bits.mlir 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not dlc-translate --mlir-to-cuda %t/template.mlir 2>&1 | FileCheck %s --check-prefix=TEMPLATE

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

//--- result.mlir
// RESULT: error: cuda printer: only the first result of gpu.shuffle has a text, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xi1>, %a: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %v, %valid = gpu.shuffle xor %a, %one, %width : f32
    memref.store %valid, %x[%c0] : memref<?xi1>
    gpu.return
  }
}

//--- expression.mlir
// EXPRESSION: error: cuda printer: no text for this vector.extract, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<4xf32>
    %w = vector.extract %v[] : vector<4xf32> from vector<4xf32>
    vector.store %w, %x[%c0] : memref<?xf32>, vector<4xf32>
    gpu.return
  }
}

//--- value.mlir
// VALUE: error: cuda printer: value has no text, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %p = ub.poison : f32
    memref.store %p, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

//--- constant.mlir
// CONSTANT: error: cuda printer: constant is neither a number nor a vector of one number, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
    vector.store %v, %x[%c0] : memref<?xf32>, vector<4xf32>
    gpu.return
  }
}

//--- insert.mlir
// INSERT: error: cuda printer: vector.insert only into a vector that a loop carries, yielded at once, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>, %a: f32) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0] : memref<?xf32>, vector<4xf32>
    %w = vector.insert %a, %v[0] : f32 into vector<4xf32>
    vector.store %w, %x[%c0] : memref<?xf32>, vector<4xf32>
    gpu.return
  }
}

//--- shared.mlir
// SHARED: error: cuda printer: shared memory has a static shape and a scalar element type, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) workgroup(%s: memref<4xcomplex<f32>, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    gpu.return
  }
}

//--- local.mlir
// LOCAL: error: cuda printer: a local array has a static shape and a scalar element type, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %l = memref.alloca(%n) : memref<?xf32>
    gpu.return
  }
}

//--- bits.mlir
// BITS: error: cuda printer: dlc.index_bits is 32 or 64, got 16
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>, dlc.index_bits = 16 : i32} {
    gpu.return
  }
}

//--- template.mlir
// TEMPLATE: error: cuda printer: no C++ type for the operands of a template, in kernel 'k'
gpu.module @m {
  gpu.func @k(%x: memref<?xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    "dlk.call"() <{callee = "f", header = "h.cuh", type = f8E5M2, config = {}, roles = []}> : () -> ()
    gpu.return
  }
}
