// RUN: split-file %s %t
// RUN: dlc-opt %t/import.mlir -verify-phase=phase=import -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/simplify.mlir -verify-phase=phase=simplify -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/targets.mlir -verify-phase=phase=compress -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/targets.mlir -verify-phase=phase=precision -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/layout.mlir -verify-phase=phase=layout -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/fuse.mlir -verify-phase=phase=fuse -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/outline.mlir -verify-phase=phase=outline -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/schedule.mlir -verify-phase=phase=schedule -verify-diagnostics -split-input-file
// RUN: dlc-opt %t/buffers.mlir -verify-phase=phase=buffers -verify-diagnostics -split-input-file
// RUN: not dlc-opt %t/good.mlir -verify-phase=phase=lunch 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// A module that keeps the contract passes.
// RUN: dlc-opt %t/good.mlir -verify-phase=phase=import -verify-phase=phase=simplify -split-targets -verify-phase=phase=layout | FileCheck %s
// RUN: dlc-opt %t/good.mlir -dlc-simplify -dlc-compress -dlc-precision -dlc-layout -dlc-fuse -dlc-outline | FileCheck %s --check-prefix=PROGRAM
// UNKNOWN: error: unknown phase 'lunch'
// CHECK: dl.relu
// PROGRAM: dlx.launch @relu

//--- good.mlir
func.func @good(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- import.mlir
// expected-error @+1 {{expected the model as one function with a body}}
module {}

// -----

module attributes {dl.symbols = [#dl.symbol<"found", 0, 4, most = () -> (4)>]} {
// expected-error @+1 {{expected a tensor<i64> with 'dl.count' for each counted symbol after the outputs, got}}
func.func @no_count(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
}

// -----

// expected-error @+1 {{expected no counted symbol in the most of 'again'}}
module attributes {dl.symbols = [#dl.symbol<"found", 0, 4, most = () -> (4)>, #dl.symbol<"again", 0, 4, most = ()[s0] -> (s0)>]} {
func.func @counted_most(%x: tensor<4xf32>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<i64> {dl.count}, tensor<i64> {dl.count}) {
  return %x, %n, %n : tensor<4xf32>, tensor<i64>, tensor<i64>
}
}

// -----

module attributes {dl.symbols = [#dl.symbol<"found", 0, 4, most = () -> (4)>]} {
// expected-error @+1 {{expected inputs whose dims are known before the run, got}}
func.func @counted_input(%x: tensor<?xf32, #dl.t<[s0]>>, %n: tensor<i64>) -> (tensor<?xf32, #dl.t<[s0]>>, tensor<i64> {dl.count}) {
  return %x, %n : tensor<?xf32, #dl.t<[s0]>>, tensor<i64>
}
}

// -----

func.func @first() { return }
// expected-error @+1 {{expected one function and nothing beside it in the module}}
func.func @second() { return }

// -----

// expected-error @+1 {{expected tensors as inputs and outputs, got '(f32) -> ()'}}
func.func @scalar(%x: f32) { return }

// -----

// expected-error @+1 {{expected row-major inputs and outputs, got '(tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>) -> ()'}}
func.func @layout(%x: tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>) { return }

// -----

func.func @foreign() -> tensor<4xf32> {
  // expected-error @+1 {{is no op of the language}}
  %0 = arith.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @converted(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{does not belong here before the layout phase}}
  %0 = dl.convert_layout %x : (tensor<2x3xf32>) -> tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>
  %1 = dl.convert_layout %0 : (tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

func.func @laid_out(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has a physical layout before the layout phase: 'tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>'}}
  %0 = dl.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>
  %1 = dl.sum %0 {dim = array<i64: 1>} : (tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

//--- simplify.mlir
func.func @decomposable(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{should have become other ops in the simplify phase}}
  %values, %indices = dl.max_dim %x {dim = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %values : tensor<4xf32>
}

// -----

func.func @flatten(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{should have become a simpler op in the simplify phase}}
  %0 = dl.flatten %x : (tensor<2x3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is used by nothing after the simplify phase}}
  %0 = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}

//--- targets.mlir
module {
module @cpu {
func.func @good(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}
module @cuda {
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is used by nothing after the simplify phase}}
  %0 = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
}
}

// -----

// expected-error @+1 {{expected 'module @cpu' or 'module @cuda', as there are from the compress phase on}}
func.func @left(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }

//--- layout.mlir
module {
module @cpu {
func.func @decomposable(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{does not belong here after the simplify phase}}
  %values, %indices = dl.max_dim %x {dim = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %values : tensor<4xf32>
}
}
}

// -----

module {
module @cpu {
func.func @nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{converts nothing}}
  %0 = dl.convert_layout %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
}
}

// -----

module {
module @cpu {
func.func @chain(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = dl.convert_layout %x : (tensor<2x3xf32>) -> tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>
  // expected-error @+1 {{converts a converted tensor; expected one convert for both}}
  %1 = dl.convert_layout %0 : (tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
}
}

// -----

module {
module @cpu {
func.func @early(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{does not belong here before the fuse phase}}
  %0 = dl.fusion (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<4xf32>):
    %r = dl.relu %i : (tensor<4xf32>) -> tensor<4xf32>
    dl.yield %r : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
}
}

//--- fuse.mlir
module {
module @cuda {
func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is outside a fusion after the fuse phase}}
  %0 = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
}

// -----

module {
module @cpu {
func.func @part_of_two(%x: tensor<4xf32>) -> tensor<8xf32> {
  %y = dl.fusion (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = dl.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    dl.yield %0 : tensor<4xf32>
  }
  // expected-error @+1 {{is outside a fusion, but joins 'tensor<4xf32>', which is not the one result of a fusion that it and fusions alone read}}
  %z = dl.cat %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}
}
}

// -----

#last = #dl.t<[2, 4, 8], order = [0, 2, 1]>
module {
module @cpu {
func.func @turned(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %y = dl.fusion (%x) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  ^bb0(%a: tensor<2x4x8xf32>):
    %0 = dl.relu %a : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    dl.yield %0 : tensor<2x4x8xf32>
  }
  // expected-error @+1 {{is outside a fusion, but joins 'tensor<2x4x8xf32>' to 'tensor<2x4x8xf32, #dl.t<[2, 4, 8], order = [0, 2, 1]>>'; expected one layout, without tiles}}
  %z = dl.cat %y : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32, #last>
  %w = dl.fusion (%z) : (tensor<2x4x8xf32, #last>) -> tensor<2x4x8xf32> {
  ^bb0(%a: tensor<2x4x8xf32, #last>):
    %0 = dl.convert_layout %a : (tensor<2x4x8xf32, #last>) -> tensor<2x4x8xf32>
    dl.yield %0 : tensor<2x4x8xf32>
  }
  return %w : tensor<2x4x8xf32>
}
}
}

// -----

module {
module @cpu {
func.func @no_state(%s: tensor<2x8xf32>, %at: tensor<i64>, %x: tensor<2x3xf32>) -> tensor<2x8xf32> {
  // expected-error @+1 {{is in place, but what it updates is no state}}
  %y = dl.fusion (%s, %at, %x) {in_place} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<i64>, %c: tensor<2x3xf32>):
    %0 = dl.update_slice %a, %b, %c {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
    dl.yield %0 : tensor<2x8xf32>
  }
  return %y : tensor<2x8xf32>
}
}
}

// -----

module {
module @cpu {
func.func @other_value(%at: tensor<i64>, %x: tensor<2x3xf32>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  // expected-error @+1 {{is in place, but its result is not the next value of the state}}
  %y = dl.fusion (%s, %at, %x) {in_place} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<i64>, %c: tensor<2x3xf32>):
    %0 = dl.update_slice %a, %b, %c {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
    dl.yield %0 : tensor<2x8xf32>
  }
  return %y, %s : tensor<2x8xf32>, tensor<2x8xf32>
}
}
}

// -----

// A view is read as the state itself.
module {
module @cpu {
func.func @read_after(%at: tensor<i64>, %x: tensor<2x3xf32>, %s: tensor<2x8xf32> {dl.state}) -> (tensor<16xf32>, tensor<2x8xf32>) {
  %v = dl.reshape %s {shape = affine_map<() -> (16)>} : (tensor<2x8xf32>) -> tensor<16xf32>
  // expected-error @+1 {{is in place, but the old value of the state is read after it}}
  %y = dl.fusion (%s, %at, %x) {in_place} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<i64>, %c: tensor<2x3xf32>):
    %0 = dl.update_slice %a, %b, %c {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
    dl.yield %0 : tensor<2x8xf32>
  }
  %z = dl.fusion (%v) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %0 = dl.relu %a : (tensor<16xf32>) -> tensor<16xf32>
    dl.yield %0 : tensor<16xf32>
  }
  return %z, %y : tensor<16xf32>, tensor<2x8xf32>
}
}
}

// -----

// expected-error @+1 {{expected 'module @cpu' or 'module @cuda', as there are from the compress phase on}}
func.func @left(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }

//--- outline.mlir
// expected-error @+1 {{expected a module for each target, 'module @cpu' or 'module @cuda'}}
module {}

// -----

// expected-error @+1 {{expected 'module @cpu' or 'module @cuda', as there are from the compress phase on}}
func.func @left(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }

// -----

module {
// expected-error @+1 {{expected one program, got 0}}
module @cpu {}
}

// -----

module {
module @cuda {
  dlx.program @P attributes {input_names = ["x"], output_names = ["y"]} {
  ^bb0(%x: !dlx.buffer<tensor<4xf32>>):
    dlx.return %x : !dlx.buffer<tensor<4xf32>>
  }
  // expected-error @+1 {{is launched by nothing}}
  dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<4xf32>):
    dl.yield %x : tensor<4xf32>
  }
}
}
//--- schedule.mlir
module {
module @cpu {
  dlx.program @P attributes {input_names = ["x"], output_names = ["y"]} {
  ^bb0(%x: !dlx.buffer<tensor<4xf32>>):
    %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
    dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
    dlx.return %y : !dlx.buffer<tensor<4xf32>>
  }
  // expected-error @+1 {{has no code after the schedule phase}}
  dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
  ^bb0(%x: tensor<4xf32>):
    %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    dl.yield %y : tensor<4xf32>
  }
}
}

// -----

module {
module @cuda {
  dlx.program @P attributes {input_names = ["x"], output_names = ["y"]} {
  ^bb0(%x: !dlx.buffer<tensor<4xf32>>):
    %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
    dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
    dlx.return %y : !dlx.buffer<tensor<4xf32>>
  }
  // expected-error @+1 {{has no block size after the schedule phase}}
  dlx.kernel @relu attributes {kind = #dlx.kind<map>, entry = "relu", dims = affine_map<() -> ()>, grid = affine_map<() -> (1, 1, 1)>} {
  ^bb0(%x: tensor<4xf32>):
    %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    dl.yield %y : tensor<4xf32>
  }
}
}
//--- buffers.mlir
module {
module @cpu {
  // expected-error @+1 {{returns a buffer that is not an alloc of its own}}
  dlx.program @P attributes {input_names = ["x"], output_names = ["y"]} {
  ^bb0(%x: !dlx.buffer<tensor<4xf32>>):
    dlx.return %x : !dlx.buffer<tensor<4xf32>>
  }
}
}

// -----

module {
module @cpu {
  dlx.program @P attributes {input_names = ["x"], output_names = ["y"]} {
  ^bb0(%x: !dlx.buffer<tensor<4xf32>>):
    // expected-error @+1 {{has no lifetime after the buffers phase}}
    %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
    dlx.copy %x to %y : !dlx.buffer<tensor<4xf32>>
    dlx.return %y : !dlx.buffer<tensor<4xf32>>
  }
}
}
