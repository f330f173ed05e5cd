// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=CPU

// Two layers share one launch with the product between them, and what is between them stays inside. The CPU keeps three.
// CPU-LABEL: dlx.program @Layers
// CPU-COUNT-3: dlx.launch
// CHECK-LABEL: dlx.program @Layers
// CHECK-COUNT-1: dlx.launch @rnn_tanh_steps_linear_rnn_tanh_steps
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @rnn_tanh_steps_linear_rnn_tanh_steps attributes {kind = #dlx.kind<recurrent>} {
// CHECK: %[[A:.*]], %{{.*}} = dl.rnn_tanh_steps
// CHECK-NEXT: %[[L:.*]] = dl.linear %[[A]]
// CHECK-NEXT: %[[B:.*]], %[[BH:.*]] = dl.rnn_tanh_steps %[[L]]
// CHECK-NEXT: dl.yield %[[B]], %[[BH]] :
module {
  func.func @Layers(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// Results of the lower layer that others read are results of the kernel.
// CHECK-LABEL: dlx.program @AllResults
// CHECK-COUNT-1: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: %[[A:.*]], %[[AH:.*]] = dl.rnn_tanh_steps
// CHECK: %[[B:.*]], %[[BH:.*]] = dl.rnn_tanh_steps
// CHECK-NEXT: dl.yield %[[B]], %[[BH]], %[[A]], %[[AH]] :
module {
  func.func @AllResults(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>, tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %a, %ah, %b : tensor<64x1x512xf16>, tensor<1x512xf16>, tensor<64x1x512xf16>
  }
}

// -----

// CHECK-LABEL: dlx.program @Three
// CHECK-COUNT-1: dlx.launch @rnn_tanh_steps_linear_rnn_tanh_steps_linear_rnn_tanh_steps
// CHECK-NOT: dlx.launch
module {
  func.func @Three(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %m = dl.linear %b, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %c, %ch = dl.rnn_tanh_steps %m, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %c : tensor<64x1x512xf16>
  }
}

// -----

// Steps and rows may be symbols.
// CHECK-LABEL: dlx.program @Symbols
// CHECK-COUNT-1: dlx.launch @rnn_tanh_steps_linear_rnn_tanh_steps
// CHECK-NOT: dlx.launch
module attributes {dl.symbols = [#dl.symbol<"T", 1, 200>, #dl.symbol<"N", 1, 4>]} {
  func.func @Symbols(%g: tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>, tensor<1x512x512xf16>) -> (tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>, tensor<?x512xf16, #dl.t<[s1, 512]>>)
    %l = dl.linear %a, %v : (tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>, tensor<512x512xf16>) -> tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>, tensor<1x512x512xf16>) -> (tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>, tensor<?x512xf16, #dl.t<[s1, 512]>>)
    return %b : tensor<?x?x512xf16, #dl.t<[s0, s1, 512]>>
  }
}

// -----

// A layer that begins with the last step needs all steps of the layer below.
// CPU-LABEL: dlx.program @OtherWay
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @OtherWay
// CHECK: why = layer_direction
// CHECK-NOT: steps_linear_rnn
module {
  func.func @OtherWay(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, reverse = true} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// A ReLU layer on a tanh layer.
// CPU-LABEL: dlx.program @OtherKind
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @OtherKind
// CHECK: why = layer_kind
// CHECK-NOT: steps_linear_rnn
module {
  func.func @OtherKind(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_relu_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// One layer ends each row where its length says, the other one does not.
// CPU-LABEL: dlx.program @OtherLengths
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @OtherLengths
// CHECK: why = layer_lengths
// CHECK-NOT: steps_linear_rnn
module {
  func.func @OtherLengths(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>, %n: tensor<1xi64>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>, tensor<1xi64>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// The upper layer begins with the last state of the lower one.
// CPU-LABEL: dlx.program @LastState
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @LastState
// CHECK: why = layer_end
// CHECK-NOT: steps_linear_rnn
module {
  func.func @LastState(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1, %ah {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>, tensor<1x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// The product is a result of the model, too.
// CPU-LABEL: dlx.program @Product
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @Product
// CHECK: why = layer_read
// CHECK-NOT: steps_linear_rnn
module {
  func.func @Product(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b, %l : tensor<64x1x512xf16>, tensor<64x1x512xf16>
  }
}

// -----

// Between the layers there is more than a product.
// CPU-LABEL: dlx.program @Between
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @Between
// CHECK-NOT: steps_linear_rnn
module {
  func.func @Between(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %r = dl.relu %a : (tensor<64x1x512xf16>) -> tensor<64x1x512xf16>
    %l = dl.linear %r, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// The user asked for a product by itself.
// CPU-LABEL: dlx.program @KeptOut
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @KeptOut
// CHECK: why = no_fuse
// CHECK-NOT: steps_linear_rnn
module {
  func.func @KeptOut(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v {dl.no_fuse} : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// The upper layer takes steps for rows.
// CPU-LABEL: dlx.program @OtherOrder
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @OtherOrder
// CHECK: why = layer_type
// CHECK-NOT: steps_linear_rnn
module {
  func.func @OtherOrder(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, batch_first = true} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<64x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// The weight of the product lies column by column.
// CPU-LABEL: dlx.program @OtherLayout
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @OtherLayout
// CHECK: why = layer_weight
// CHECK-NOT: steps_linear_rnn
module {
  func.func @OtherLayout(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16, #dl.t<[512, 512], order = [1, 0]>>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16, #dl.t<[512, 512], order = [1, 0]>>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b : tensor<64x1x512xf16>
  }
}

// -----

// The lower layer runs beside another one.
// CPU-LABEL: dlx.program @Shared
// CPU-NOT: why = layer_
// CHECK-LABEL: dlx.program @Shared
// CHECK: why = layer_shared
// CHECK-NOT: steps_linear_rnn
module {
  func.func @Shared(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<512x512xf16>, %w1: tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<64x1x512xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %d, %dh = dl.rnn_tanh_steps %g, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<512x512xf16>) -> tensor<64x1x512xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    return %b, %d : tensor<64x1x512xf16>, tensor<64x1x512xf16>
  }
}

// -----

// With many rows the products take longer than the meetings.
// CHECK-LABEL: dlx.program @ManyRows
// CHECK: why = slower_waves
// CHECK-NOT: steps_linear_rnn
module {
  func.func @ManyRows(%g: tensor<64x64x1024xf16>, %w0: tensor<1x1024x1024xf16>, %v: tensor<1024x1024xf16>, %w1: tensor<1x1024x1024xf16>) -> (tensor<64x64x1024xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x64x1024xf16>, tensor<1x1024x1024xf16>) -> (tensor<64x64x1024xf16>, tensor<64x1024xf16>)
    %l = dl.linear %a, %v : (tensor<64x64x1024xf16>, tensor<1024x1024xf16>) -> tensor<64x64x1024xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x64x1024xf16>, tensor<1x1024x1024xf16>) -> (tensor<64x64x1024xf16>, tensor<64x1024xf16>)
    return %b : tensor<64x64x1024xf16>
  }
}

// -----

// CHECK-LABEL: dlx.program @OtherUnits
// CHECK: why = layer_units
// CHECK-NOT: steps_linear_rnn
module {
  func.func @OtherUnits(%g: tensor<64x1x512xf16>, %w0: tensor<1x512x512xf16>, %v: tensor<256x512xf16>, %w1: tensor<1x256x256xf16>) -> (tensor<64x1x256xf16>) {
    %a, %ah = dl.rnn_tanh_steps %g, %w0 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x512xf16>, tensor<1x512x512xf16>) -> (tensor<64x1x512xf16>, tensor<1x512xf16>)
    %l = dl.linear %a, %v : (tensor<64x1x512xf16>, tensor<256x512xf16>) -> tensor<64x1x256xf16>
    %b, %bh = dl.rnn_tanh_steps %l, %w1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<64x1x256xf16>, tensor<1x256x256xf16>) -> (tensor<64x1x256xf16>, tensor<1x256xf16>)
    return %b : tensor<64x1x256xf16>
  }
}
