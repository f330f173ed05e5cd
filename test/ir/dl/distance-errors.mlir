// RUN: dlc-opt %s -split-input-file -verify-diagnostics

func.func @cosine_dims(%x: tensor<4x8xf32>, %y: tensor<3x8xf32>) {
  // expected-error @+2 {{'dl.cosine_similarity' cannot broadcast f32[4,8] and f32[3,8] to each other}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.cosine_similarity %x, %y : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cosine_dim(%x: tensor<8xf32>, %y: tensor<8xf32>) {
  // expected-error @+2 {{'dl.cosine_similarity' has dim 1; expected -1 to 0 for a tensor of rank 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.cosine_similarity %x, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @distance_of_numbers(%x: tensor<f32>, %y: tensor<f32>) {
  // expected-error @+2 {{'dl.pairwise_distance' needs vectors, got f32[]}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.pairwise_distance %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @cdist_columns(%x: tensor<4x8xf32>, %y: tensor<5x7xf32>) {
  // expected-error @+2 {{'dl.cdist' needs x1 [..., P, M] and x2 [..., R, M], got f32[4,8] and f32[5,7]}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.cdist %x, %y : (tensor<4x8xf32>, tensor<5x7xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @cdist_leading(%x: tensor<2x4x8xf32>, %y: tensor<3x5x8xf32>) {
  // expected-error @+2 {{'dl.cdist' cannot broadcast the leading dims of f32[2,4,8] and f32[3,5,8]}}
  // expected-error @+1 {{failed to infer returned types}}
  %z = dl.cdist %x, %y : (tensor<2x4x8xf32>, tensor<3x5x8xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @cdist_dtypes(%x: tensor<4x8xf32>, %y: tensor<5x8xf16>) {
  // expected-error @+1 {{'dl.cdist'}}
  %z = dl.cdist %x, %y : (tensor<4x8xf32>, tensor<5x8xf16>) -> tensor<4x5xf32>
  return
}
