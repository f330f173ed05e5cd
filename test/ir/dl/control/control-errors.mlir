// RUN: dlc-opt %s -split-input-file -verify-diagnostics
// Branches, loops, and sizes that data say.

// expected-error @+1 {{the dim 'k' is read: expected a range alone, and no most, definition or step}}
module attributes {dl.symbols = [#dl.symbol<"k", 0, 32 step 2 read true>]} {}

// -----

module attributes {dl.symbols = [#dl.symbol<"k", 0, 32 read true>]} {
func.func @several(%n: tensor<2xi64>) {
  // expected-error @+1 {{'dl.read' op needs a tensor of one element, got i64[2]}}
  dl.read %n as affine_map<()[s0] -> (s0)> : tensor<2xi64>
  return
}
}

// -----

module attributes {dl.symbols = [#dl.symbol<"N", 0, 32>]} {
func.func @declared(%n: tensor<i64>) {
  // expected-error @+1 {{'dl.read' op needs one symbol that is declared with 'read', got affine_map<()[s0] -> (s0)>}}
  dl.read %n as affine_map<()[s0] -> (s0)> : tensor<i64>
  return
}
}

// -----

func.func @condition(%x: tensor<4xf32>, %c: tensor<4xi1>) {
  // expected-error @+1 {{'dl.if' op needs a condition of one element, got bool[4]}}
  %y = dl.if %c : (tensor<4xi1>) -> tensor<4xf32> {
    dl.yield %x : tensor<4xf32>
  } else {
    dl.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @branches(%x: tensor<4xf32>, %c: tensor<i1>) {
  // expected-error @+1 {{'dl.if' op needs branches that yield as many values as it has results, 1}}
  %y = dl.if %c : (tensor<i1>) -> tensor<4xf32> {
    dl.yield %x : tensor<4xf32>
  } else {
    dl.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @dims(%x: tensor<4xf32>, %z: tensor<5xf32>, %c: tensor<i1>) {
  // expected-error @+1 {{'dl.if' op gives f32[4] as result 0, and a branch yields f32[5]}}
  %y = dl.if %c : (tensor<i1>) -> tensor<4xf32> {
    dl.yield %x : tensor<4xf32>
  } else {
    dl.yield %z : tensor<5xf32>
  }
  return
}

// -----

func.func @trips(%x: tensor<4xf32>, %n: tensor<2xi64>) {
  // expected-error @+1 {{'dl.while' op needs a number of trips and a condition of one element, got i64[2]}}
  %y = dl.while trips(%n : tensor<2xi64>) (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
    dl.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @endless(%x: tensor<4xf32>) {
  // expected-error @+1 {{'dl.while' op needs a number of trips or a condition; it would not end}}
  %y = dl.while (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
    dl.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @arguments(%x: tensor<4xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{'dl.while' op needs a body of 2 arguments that yields 1 values}}
  %y = dl.while trips(%n : tensor<i64>) (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%step: tensor<i64>):
    dl.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @step(%x: tensor<4xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{'dl.while' op needs the step as a tensor<i64>, got i32[]}}
  %y = dl.while trips(%n : tensor<i64>) (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%step: tensor<i32>, %a: tensor<4xf32>):
    dl.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @goes_on(%x: tensor<4xf32>, %c: tensor<i1>) {
  // expected-error @+1 {{'dl.while' op needs one bool that says whether it goes on, got i64[]}}
  %y = dl.while condition(%c : tensor<i1>) (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
    dl.yield %step, %a : tensor<i64>, tensor<4xf32>
  }
  return
}

// -----

func.func @carried(%x: tensor<4xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{'dl.while' op carries f32[4], and gets f32[8]}}
  %y = dl.while trips(%n : tensor<i64>) (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
    %b = dl.cat %a, %a {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    dl.yield %b : tensor<8xf32>
  }
  return
}

// -----

func.func @given(%x: tensor<4xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{'dl.while' op carries f32[4], and gives f32[5]}}
  %y = dl.while trips(%n : tensor<i64>) (%x) : (tensor<4xf32>) -> tensor<5xf32> {
  ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
    dl.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @gathered(%x: tensor<4xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{'dl.while' op gathers f32[4], and gives f32[3,5]}}
  %y, %all = dl.while trips(%n : tensor<i64>) (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x5xf32>) {
  ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
    dl.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
}
