// RUN: dlc-opt %s -split-input-file -verify-diagnostics

func.func @full_type() {
  // expected-error @+1 {{fills 'tensor<4xf16>' with a number of type 'f16'; expected 'f32'}}
  %y = dl.full 1.0 : f16 -> tensor<4xf16>
  return
}

// -----

func.func @fusion_roots(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has 2 ops with stages or attentions; expected one at most, the root, a product and the pooling of its results, or 'rows'}}
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    dl.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fusion_loops(%x: tensor<4x8xf32>) {
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    // expected-error @+1 {{cannot be part of a fusion: it is not computed by loops}}
    %w = dl.weight "w" : tensor<4x8xf32>
    dl.yield %w : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fusion_inputs(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a body whose arguments differ from its inputs}}
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x7xf32> {
  ^bb0(%a: tensor<4x7xf32>):
    dl.yield %a : tensor<4x7xf32>
  }
  return
}

// -----

func.func @fusion_outputs(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has a body that yields other types than its outputs}}
  %y = dl.fusion (%x) : (tensor<4x8xf32>) -> tensor<4x7xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    dl.yield %a : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fusion_recurrence(%g: tensor<5x2x16xf32>, %w: tensor<4x4x4xf32>) {
  %0 = dl.fusion (%g, %w) : (tensor<5x2x16xf32>, tensor<4x4x4xf32>) -> tensor<5x2x4xf32> {
  ^bb0(%a: tensor<5x2x16xf32>, %b: tensor<4x4x4xf32>):
    // expected-error @+1 {{shares a fusion with other ops; it is a kernel of its own}}
    %y, %hn, %cn = dl.lstm_steps %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %r = dl.relu %y : (tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
    dl.yield %r : tensor<5x2x4xf32>
  }
  return
}

// -----

// Recurrences side by side are of one shape.
func.func @fusion_recurrences(%g: tensor<5x2x16xf32>, %w: tensor<4x4x4xf32>, %h: tensor<5x3x16xf32>) {
  %0:2 = dl.fusion (%g, %w, %h) : (tensor<5x2x16xf32>, tensor<4x4x4xf32>, tensor<5x3x16xf32>) -> (tensor<5x2x4xf32>, tensor<5x3x4xf32>) {
  ^bb0(%a: tensor<5x2x16xf32>, %b: tensor<4x4x4xf32>, %c: tensor<5x3x16xf32>):
    %y, %hn, %cn = dl.lstm_steps %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x16xf32>, tensor<4x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    // expected-error @+1 {{shares a fusion with a recurrence of another shape, or reads it; expected one shape and inputs of the fusion alone}}
    %z, %hm, %cm = dl.lstm_steps %c, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x3x16xf32>, tensor<4x4x4xf32>) -> (tensor<5x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>)
    dl.yield %y, %z : tensor<5x2x4xf32>, tensor<5x3x4xf32>
  }
  return
}

// -----

// Layers of a stack: each reads a product of the one before it.
func.func @fusion_layers(%g: tensor<5x2x4xf32>, %w: tensor<1x4x4xf32>, %v: tensor<4x4xf32>) {
  %0 = dl.fusion (%g, %w, %v) : (tensor<5x2x4xf32>, tensor<1x4x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32> {
  ^bb0(%a: tensor<5x2x4xf32>, %b: tensor<1x4x4xf32>, %c: tensor<4x4xf32>):
    %y, %hn = dl.rnn_tanh_steps %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    %l = dl.linear %y, %c : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
    // expected-error @+1 {{is in one fusion with the layer below: the layer below goes the other way along time}}
    %z, %hm = dl.rnn_tanh_steps %l, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, reverse = true} : (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    dl.yield %z : tensor<5x2x4xf32>
  }
  return
}

// -----

func.func @fusion_layer_and_product(%g: tensor<5x2x4xf32>, %w: tensor<1x4x4xf32>, %v: tensor<4x4xf32>) {
  %0 = dl.fusion (%g, %w, %v) : (tensor<5x2x4xf32>, tensor<1x4x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32> {
  ^bb0(%a: tensor<5x2x4xf32>, %b: tensor<1x4x4xf32>, %c: tensor<4x4xf32>):
    %y, %hn = dl.rnn_tanh_steps %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    // expected-error @+1 {{is not part of a stack of layers in one fusion; expected recurrences, each of which reads one linear product of the y of that before it, and inputs of the fusion}}
    %l = dl.linear %y, %c : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
    dl.yield %l : tensor<5x2x4xf32>
  }
  return
}

// -----

// The product is of the last state, not of y.
func.func @fusion_layer_of_last(%g: tensor<5x2x4xf32>, %w: tensor<1x4x4xf32>, %v: tensor<4x4xf32>, %h: tensor<2x2x4xf32>) {
  %0 = dl.fusion (%g, %w, %v, %h) : (tensor<5x2x4xf32>, tensor<1x4x4xf32>, tensor<4x4xf32>, tensor<2x2x4xf32>) -> tensor<2x2x4xf32> {
  ^bb0(%a: tensor<5x2x4xf32>, %b: tensor<1x4x4xf32>, %c: tensor<4x4xf32>, %d: tensor<2x2x4xf32>):
    %y, %hn = dl.rnn_tanh_steps %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    // expected-error @+1 {{is not part of a stack of layers in one fusion}}
    %l = dl.linear %d, %c : (tensor<2x2x4xf32>, tensor<4x4xf32>) -> tensor<2x2x4xf32>
    %z, %hm = dl.rnn_tanh_steps %l, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<2x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<2x2x4xf32>, tensor<2x4xf32>)
    dl.yield %z : tensor<2x2x4xf32>
  }
  return
}

// -----

// The highest layer reads a product of the lowest one.
func.func @fusion_layer_skipped(%g: tensor<5x2x4xf32>, %w: tensor<1x4x4xf32>, %v: tensor<4x4xf32>) {
  %0:2 = dl.fusion (%g, %w, %v) : (tensor<5x2x4xf32>, tensor<1x4x4xf32>, tensor<4x4xf32>) -> (tensor<5x2x4xf32>, tensor<5x2x4xf32>) {
  ^bb0(%a: tensor<5x2x4xf32>, %b: tensor<1x4x4xf32>, %c: tensor<4x4xf32>):
    %y, %hn = dl.rnn_tanh_steps %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    %l = dl.linear %y, %c : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
    %z, %hm = dl.rnn_tanh_steps %l, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    %m = dl.linear %y, %c : (tensor<5x2x4xf32>, tensor<4x4xf32>) -> tensor<5x2x4xf32>
    // expected-error @+1 {{does not read a product of the layer before it in its fusion}}
    %u, %hu = dl.rnn_tanh_steps %m, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x4xf32>, tensor<1x4x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
    dl.yield %u, %z : tensor<5x2x4xf32>, tensor<5x2x4xf32>
  }
  return
}

// -----

// A pooling whose windows overlap would compute the product several times.
func.func @fusion_pooling(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) {
  // expected-error @+1 {{has 2 ops with stages or attentions; expected one at most, the root, a product and the pooling of its results, or 'rows'}}
  %y = dl.fusion (%x, %w) : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x3x4xf32> {
  ^bb0(%a: tensor<2x8x9x11xf32>, %b: tensor<8x8x3x3xf32>):
    %c = dl.conv2d %a, %b : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x7x9xf32>
    %p = dl.max_pool2d %c {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<2x8x7x9xf32>) -> tensor<2x8x3x4xf32>
    dl.yield %p : tensor<2x8x3x4xf32>
  }
  return
}

// -----

// One that stores the product too has no kernel.
func.func @fusion_pooled_and_product(%x: tensor<2x8x9x11xf32>, %w: tensor<8x8x3x3xf32>) {
  // expected-error @+1 {{has 2 ops with stages or attentions; expected one at most, the root, a product and the pooling of its results, or 'rows'}}
  %y:2 = dl.fusion (%x, %w) : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> (tensor<2x8x3x4xf32>, tensor<2x8x7x9xf32>) {
  ^bb0(%a: tensor<2x8x9x11xf32>, %b: tensor<8x8x3x3xf32>):
    %c = dl.conv2d %a, %b : (tensor<2x8x9x11xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x7x9xf32>
    %p = dl.max_pool2d %c {kernel_size = array<i64: 2, 2>} : (tensor<2x8x7x9xf32>) -> tensor<2x8x3x4xf32>
    dl.yield %p, %c : tensor<2x8x3x4xf32>, tensor<2x8x7x9xf32>
  }
  return
}

// -----

func.func @fusion_layouts(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{stores 'tensor<4x8xf32>' and 'tensor<4x8xf32, #dl.t<[4, 8], order = [1, 0]>>'; expected the same dims and layout, since one kernel stores both at one index}}
  %y:2 = dl.fusion (%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32, #dl.t<[4, 8], order = [1, 0]>>) {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = dl.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dl.convert_layout %0 : (tensor<4x8xf32>) -> tensor<4x8xf32, #dl.t<[4, 8], order = [1, 0]>>
    dl.yield %0, %1 : tensor<4x8xf32>, tensor<4x8xf32, #dl.t<[4, 8], order = [1, 0]>>
  }
  return
}

// -----

func.func @fusion_dims(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{stores 'tensor<4x8xf32>' and 'tensor<8x4xf32>'; expected the same dims and layout, since one kernel stores both at one index}}
  %y:2 = dl.fusion (%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = dl.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    dl.yield %0, %1 : tensor<4x8xf32>, tensor<8x4xf32>
  }
  return
}

// -----

func.func @fusion_in_place(%s: tensor<2x8xf32>) {
  // expected-error @+1 {{is in place, which a fusion that gives one dl.update_slice of an input may be, where nothing else in it reads the input}}
  %y = dl.fusion (%s) {in_place} : (tensor<2x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>):
    %0 = dl.relu %a : (tensor<2x8xf32>) -> tensor<2x8xf32>
    dl.yield %0 : tensor<2x8xf32>
  }
  return
}

// -----

func.func @fusion_in_place_reads(%s: tensor<2x8xf32>, %at: tensor<i64>) {
  // expected-error @+1 {{is in place, which a fusion that gives one dl.update_slice of an input may be, where nothing else in it reads the input}}
  %y = dl.fusion (%s, %at) {in_place} : (tensor<2x8xf32>, tensor<i64>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<i64>):
    %0 = dl.relu %a : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %1 = dl.update_slice %a, %b, %0 {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x8xf32>) -> tensor<2x8xf32>
    dl.yield %1 : tensor<2x8xf32>
  }
  return
}

// -----

func.func @fusion_edge_number(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has an edge for input 1; expected one of its 1}}
  %y = dl.fusion (%x) {edges = [#dl.edge<input = 1, reader = "relu", producer = "exp", why = several_users>]} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = dl.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    dl.yield %0 : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fusion_edge_writer(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{has an edge for input 0, which no other fusion writes}}
  %y = dl.fusion (%x) {edges = [#dl.edge<input = 0, reader = "relu", producer = "exp", why = several_users>]} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = dl.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    dl.yield %0 : tensor<4x8xf32>
  }
  return
}
