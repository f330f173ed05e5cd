// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// The body of dl.attention has two products with a softmax between them.

func.func @arguments(%q: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'dl.attention' op has a body whose arguments differ from its inputs}}
  %y = dl.attention(%q) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x5xf32>):
    %0 = dl.full 0.0 : f32 -> tensor<8x4xf32>
    dl.yield %0 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @result(%q: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'dl.attention' op has a body that yields another type than its result}}
  %y = dl.attention(%q) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = dl.full 0.0 : f32 -> tensor<8x5xf32>
    dl.yield %0 : tensor<8x5xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @no_products(%q: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'dl.attention' op has a body without two products and a softmax}}
  %y = dl.attention(%q) : (tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    dl.yield %0 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @more(%q: tensor<8x4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'dl.attention' op has 'dl.sum' in its body; expected two products, a softmax and maps}}
  %y = dl.attention(%q) : (tensor<8x4xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = dl.sum %a {dim = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
    dl.yield %0 : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

func.func @along_queries(%q: tensor<8x4xf32>, %k: tensor<4x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'dl.attention' op does not end in the product of the softmax, summed along the keys, and values}}
  %y = dl.attention(%q, %k, %v) : (tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>, %c: tensor<8x4xf32>):
    %0 = dl.matmul %a, %b : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = dl.matmul %1, %c : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    dl.yield %2 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @turned(%q: tensor<8x4xf32>, %k: tensor<4x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'dl.attention' op takes the softmax of something else than scores, or of scores at another index}}
  %y = dl.attention(%q, %k, %v) : (tensor<8x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>, %c: tensor<8x4xf32>):
    %0 = dl.matmul %a, %b : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %t = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.softmax %t {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = dl.matmul %1, %c : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    dl.yield %2 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @yields_more(%q: tensor<8x4xf32>, %k: tensor<4x9xf32>, %v: tensor<9x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'dl.attention' op yields something else than its last product}}
  %y = dl.attention(%q, %k, %v) : (tensor<8x4xf32>, tensor<4x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x9xf32>, %c: tensor<9x4xf32>):
    %0 = dl.matmul %a, %b : (tensor<8x4xf32>, tensor<4x9xf32>) -> tensor<8x9xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %2 = dl.matmul %1, %c : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    %3 = dl.relu %2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    dl.yield %3 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @causal_keys_first(%q: tensor<8x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'dl.attention' op is causal; expected the keys as the last dim of the scores, f32[9,8]}}
  %y = dl.attention(%q, %k, %v) {is_causal} : (tensor<8x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>):
    %0 = dl.contract %b, %a {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<9x4xf32>, tensor<8x4xf32>) -> tensor<9x8xf32>
    %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<9x8xf32>) -> tensor<9x8xf32>
    %2 = dl.contract %1, %c {x_loops = array<i64: 2, 0>, other_loops = array<i64: 2, 1>, rank = 2 : i64} : (tensor<9x8xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    dl.yield %2 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

func.func @along_heads(%q: tensor<2x8x4xf32>, %k: tensor<2x9x4xf32>, %v: tensor<2x9x4xf32>) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{'dl.attention' op takes the softmax along a dim that is not the keys'}}
  %y = dl.attention(%q, %k, %v) : (tensor<2x8x4xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32> {
  ^bb0(%a: tensor<2x8x4xf32>, %b: tensor<2x9x4xf32>, %c: tensor<2x9x4xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 1, 3>, other_loops = array<i64: 0, 2, 3>, rank = 3 : i64} : (tensor<2x8x4xf32>, tensor<2x9x4xf32>) -> tensor<2x8x9xf32>
    %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
    %2 = dl.matmul %1, %c : (tensor<2x8x9xf32>, tensor<2x9x4xf32>) -> tensor<2x8x4xf32>
    dl.yield %2 : tensor<2x8x4xf32>
  }
  return %y : tensor<2x8x4xf32>
}
