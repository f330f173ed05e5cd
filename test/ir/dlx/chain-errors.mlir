// RUN: dlc-opt %s --split-input-file --verify-diagnostics
// A chain has other kernels as its stages, and takes the place of their launches, in their order.

// expected-error @+1 {{is of kind chain with two stages or more, or has none}}
dlx.kernel @chain attributes {kind = #dlx.kind<chain>, stages = [@f]} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has the stage @g, which is no dlx.kernel without stages}}
dlx.kernel @chain attributes {kind = #dlx.kind<chain>, stages = [@g, @g]} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

dlx.program @p attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : <tensor<4xf32>>
  // expected-error @+1 {{has the chain @f, which has no 2 stages for launches of a run}}
  dlx.launch @f(%x) -> (%y) {chain = #dlx.chain<kernel = @f, launches = 2>} : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}
dlx.kernel @f attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

dlx.program @p attributes {input_names = ["x"], output_names = ["z"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : <tensor<4xf32>>
  // expected-error @+1 {{has the chain @chain, whose stage @f is not launched in its turn}}
  dlx.launch @f(%x) -> (%y) {chain = #dlx.chain<kernel = @chain, launches = 2>} : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  %z = dlx.alloc : <tensor<4xf32>>
  dlx.copy %y to %z : !dlx.buffer<tensor<4xf32>>
  dlx.return %z : !dlx.buffer<tensor<4xf32>>
}
dlx.kernel @f attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}
dlx.kernel @chain attributes {kind = #dlx.kind<chain>, stages = [@f, @f]} {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  dl.yield %x, %y : tensor<4xf32>, tensor<4xf32>
}
