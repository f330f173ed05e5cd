// What a model returns under other dims is where its kernel writes it, and where another kernel reads it.
// RUN: dlc compile %s --compile-from import -q --target cpu,cuda -o %t.bin
// RUN: dlc inspect %t.bin | FileCheck %s --check-prefix=MEMORY --implicit-check-not=copies
// RUN: dlc explain %t.bin | FileCheck %s
// RUN: dlc run %t.bin --device cpu --input x=2x4xf32=zeros --print-top 4 | FileCheck %s --check-prefix=RESULT
// RUN: dlc run %t.bin --device cuda-emu --input x=2x4xf32=zeros --print-top 4 | FileCheck %s --check-prefix=RESULT
// MEMORY: Program for cpu
// RESULT: y: 0 (1), 1 (1), 2 (1), 3 (1)
// RESULT: z[0]: 0 (0.25)
// CHECK: 'exp'
// CHECK: 'softmax'
// CHECK-NEXT: plan:
// CHECK-NEXT: 'softmax' is not fused with 'exp' of 'exp': its rows are shorter than a vector or a warp
module {
func.func @main(%x: tensor<2x4xf32> {dl.name = "x"}) -> (tensor<8xf32> {dl.name = "y"}, tensor<2x4xf32> {dl.name = "z"}) {
  %0 = dl.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (8)>} : (tensor<2x4xf32>) -> tensor<8xf32>
  %2 = dl.softmax %0 {dim = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1, %2 : tensor<8xf32>, tensor<2x4xf32>
}
}
