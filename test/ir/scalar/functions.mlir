// RUN: dlc-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// The functions that upstream's math dialect lacks, and the types that they take.

// CHECK-LABEL: @functions
func.func @functions(%x: f32, %y: f64, %v: vector<8xf32>) -> (f32, f64, vector<8xf32>) {
  // CHECK: dls.gelu %{{.*}} : f64
  %0 = dls.gelu %y : f64
  // CHECK: dls.sigmoid %{{.*}} : vector<8xf32>
  %1 = dls.sigmoid %v : vector<8xf32>
  // CHECK: dls.reciprocal %{{.*}} : f32
  %2 = dls.reciprocal %x : f32
  return %2, %0, %1 : f32, f64, vector<8xf32>
}

// -----

func.func @halves(%x: f16) -> f16 {
  // expected-error @+1 {{operand #0 must be 32-bit float or 64-bit float or vector of}}
  %0 = dls.gelu %x : f16
  return %0 : f16
}

// -----

func.func @doubles(%x: f64) -> f64 {
  // expected-error @+1 {{operand #0 must be 32-bit float or vector of 32-bit float}}
  %0 = dls.reciprocal %x : f64
  return %0 : f64
}
