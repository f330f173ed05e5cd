// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{targets=cpu}))' -split-input-file | FileCheck %s --check-prefix=CPU
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{targets=cpu,cuda}))' -split-input-file | FileCheck %s --check-prefix=BOTH
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower))' -split-input-file | FileCheck %s --check-prefix=NONE
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{scheme=w4 targets=cpu}))' -split-input-file | FileCheck %s --check-prefix=W4
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{scheme=w8 targets=cpu}))' -split-input-file | FileCheck %s --check-prefix=W8
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{targets=cpu},quantize-products))' -split-input-file | FileCheck %s --check-prefix=AFTER
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{scheme=int7}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=SCHEME
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{targets=cpu refits}))' -split-input-file | FileCheck %s --check-prefix=REFITS
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{scheme=dynamic targets=cpu refits}))' -split-input-file | FileCheck %s --check-prefix=REFITS
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(keep-slower{targets=cpu,cuda refits}))' -split-input-file | FileCheck %s --check-prefix=BOTHREFIT
// SCHEME: error: scheme is int8, dynamic, fp8, w8 or w4, got 'int7'
// NONE-NOT: kept_by_cost
// The pass that quantizes takes the mark away.
// AFTER-NOT: kept_by_cost

// Arithmetic takes the time, of which integers save most; 4 bits add to it.
// CPU-LABEL: @large
// CPU-NOT: kept_by_cost
// BOTH-LABEL: @large
// BOTH-NOT: kept_by_cost
// W4-LABEL: @large
// W4: dl.linear {{.*}}dl.kept_by_cost = "w4 0.92x on cpu (convert 169 us)"
// W8-LABEL: @large
// W8-NOT: kept_by_cost
// W8: return
func.func @large(%x: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %w = dl.weight "w" : tensor<768x768xf32>
  %0 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  return %0 : tensor<128x768xf32>
}

// -----

// Each sum of 16 terms is to become f32 again, and each term a byte.
// CPU-LABEL: @conversions
// CPU: dl.linear {{.*}}dl.kept_by_cost = "int8 0.72x on cpu (convert 21 us)"
// BOTH-LABEL: @conversions
// BOTH: dl.linear {{.*}}dl.kept_by_cost = "int8 0.72x on cpu (convert 21 us), {{[0-9.]+}}x on cuda (convert 0.1 us, modelled)"
// AFTER-LABEL: @conversions
// AFTER-NOT: ui8
// AFTER: return
func.func @conversions(%x: tensor<4096x16xf32>) -> tensor<4096x16xf32> {
  %w = dl.weight "w" : tensor<16x16xf32>
  %0 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<4096x16xf32>, tensor<16x16xf32>) -> tensor<4096x16xf32>
  return %0 : tensor<4096x16xf32>
}

// -----

// Six products share the conversion of what they read; another user of that changes nothing.
// CPU-LABEL: @shared
// CPU-NOT: kept_by_cost
// CPU: return
// AFTER-LABEL: @shared
// AFTER-COUNT-1: dl.cast %{{.*}} {dtype = ui8}
func.func @shared(%x: tensor<4096x32xf32>) -> (tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x32xf32>) {
  %w = dl.weight "w" : tensor<16x32xf32>
  %0 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<4096x32xf32>, tensor<16x32xf32>) -> tensor<4096x16xf32>
  %1 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<4096x32xf32>, tensor<16x32xf32>) -> tensor<4096x16xf32>
  %2 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<4096x32xf32>, tensor<16x32xf32>) -> tensor<4096x16xf32>
  %3 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<4096x32xf32>, tensor<16x32xf32>) -> tensor<4096x16xf32>
  %4 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<4096x32xf32>, tensor<16x32xf32>) -> tensor<4096x16xf32>
  %5 = dl.linear %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<4096x32xf32>, tensor<16x32xf32>) -> tensor<4096x16xf32>
  %6 = dl.relu %x : (tensor<4096x32xf32>) -> tensor<4096x32xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096x32xf32>
}

// -----

// A symbol has its smallest size: one row, whose time is that of reading the weight.
// CPU-LABEL: @smallest
// W4-LABEL: @smallest
// W4-NOT: kept_by_cost
// W4: return
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4096>]} {
func.func @smallest(%x: tensor<?x2048xf32, #dl.t<[s0, 2048]>>) -> tensor<?x2048xf32, #dl.t<[s0, 2048]>> {
  %w = dl.weight "w" : tensor<2048x2048xf32>
  %0 = dl.linear %x, %w : (tensor<?x2048xf32, #dl.t<[s0, 2048]>>, tensor<2048x2048xf32>) -> tensor<?x2048xf32, #dl.t<[s0, 2048]>>
  return %0 : tensor<?x2048xf32, #dl.t<[s0, 2048]>>
}
}

// -----

// Or the usual one: 256 rows, for which few bits are computed 16 times.
// CPU-LABEL: @usual
// W4-LABEL: @usual
// W4: dl.linear {{.*}}dl.kept_by_cost = "w4 0.90x on cpu (convert 2397 us)"
// W8-LABEL: @usual
// W8-NOT: kept_by_cost
// W8: return
module attributes {dl.symbols = [#dl.symbol<"N", 1, 4096 usual 256>]} {
func.func @usual(%x: tensor<?x2048xf32, #dl.t<[s0, 2048]>>) -> tensor<?x2048xf32, #dl.t<[s0, 2048]>> {
  %w = dl.weight "w" : tensor<2048x2048xf32>
  %0 = dl.linear %x, %w : (tensor<?x2048xf32, #dl.t<[s0, 2048]>>, tensor<2048x2048xf32>) -> tensor<?x2048xf32, #dl.t<[s0, 2048]>>
  return %0 : tensor<?x2048xf32, #dl.t<[s0, 2048]>>
}
}

// -----

// Channels of their own: nothing multiplies bytes of these four at a time.
// CPU-LABEL: @depthwise
// CPU: dl.conv2d {{.*}}dl.kept_by_cost = "int8 0.52x on cpu (convert 16 us)"
func.func @depthwise(%x: tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
  %w = dl.weight "w" : tensor<64x1x5x5xf32>
  %0 = dl.conv2d %x, %w {padding = array<i64: 2, 2>, groups = 64 : i64} : (tensor<1x64x28x28xf32>, tensor<64x1x5x5xf32>) -> tensor<1x64x28x28xf32>
  return %0 : tensor<1x64x28x28xf32>
}

// -----

// Rows of a large table come from memory, in a quarter of the bytes; a small one is in the cache. With `refits` the CPU reads rows of the file.
// CPU-LABEL: @tables
// CPU: dl.embedding %arg0, %{{.*}} : (tensor<128xi64>, tensor<30522x768xf32>)
// CPU: dl.embedding {{.*}}dl.kept_by_cost = "int8 0.98x on cpu (convert 0.1 us)"
// W4-LABEL: @tables
// W4: dl.embedding %arg0, %{{.*}} : (tensor<128xi64>, tensor<30522x768xf32>)
// W4: dl.embedding {{.*}}dl.kept_by_cost = "w4
// REFITS-LABEL: @tables
// REFITS: dl.embedding {{.*}}dl.kept_by_cost = "the file has it in f32 for dlc refit, of which the CPU reads the rows that it needs; --no-refit stores bytes"
// BOTHREFIT-LABEL: @tables
// BOTHREFIT: dl.embedding {{.*}}dl.kept_on = {cpu = "the file has it in f32 for dlc refit, of which the CPU reads the rows that it needs; --no-refit stores bytes"}{{.*}}tensor<30522x768xf32>
func.func @tables(%x: tensor<128xi64>) -> (tensor<128x768xf32>, tensor<128x768xf32>) {
  %w = dl.weight "w" : tensor<30522x768xf32>
  %0 = dl.embedding %x, %w : (tensor<128xi64>, tensor<30522x768xf32>) -> tensor<128x768xf32>
  %v = dl.weight "v" : tensor<2x768xf32>
  %1 = dl.embedding %x, %v : (tensor<128xi64>, tensor<2x768xf32>) -> tensor<128x768xf32>
  return %0, %1 : tensor<128x768xf32>, tensor<128x768xf32>
}

// -----

// A GPU spends more on bytes of the activation than it saves, and a CPU does not: the reason is
// that target's.
// BOTH-LABEL: @turns
// BOTH: dl.linear {{.*}}dl.kept_on = {cuda = "int8 0.{{[0-9]+}}x on cuda (convert {{[0-9.]+}} us, modelled)"}
// CPU-LABEL: @turns
// CPU-NOT: kept
// CPU: return
func.func @turns(%x: tensor<4096x96xf32>) -> tensor<4096x32xf32> {
  %w = dl.weight "w" : tensor<32x96xf32>
  %0 = dl.linear %x, %w : (tensor<4096x96xf32>, tensor<32x96xf32>) -> tensor<4096x32xf32>
  return %0 : tensor<4096x32xf32>
}
