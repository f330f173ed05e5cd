// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{is a product of two inputs with 12 extents and steps, or none}}
dlx.kernel @k attributes {kind = #dlx.kind<contraction>, product = affine_map<() -> (1, 2, 3)>, product_inputs = array<i64: 0, 1>} {
^bb0(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>):
  %0 = dl.matmul %x, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  dl.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{is scheduled but lacks grid or dims}}
dlx.kernel @scheduled attributes {kind = #dlx.kind<map>, entry = "f"} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has 1 inputs and 1 outputs, states among both, but 0 and 1 names}}
dlx.program @names attributes {input_names = [], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  dlx.return %x : !dlx.buffer<tensor<4xf32>>
}

// -----

// expected-error @+1 {{is in place, which a kernel that gives one dl.update_slice of an input may be, where nothing else reads the input}}
dlx.kernel @f attributes {in_place, kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{gives a state of '!dlx.buffer<tensor<8xf32>>' a value of '!dlx.buffer<tensor<4xf32>>'}}
dlx.program @state attributes {input_names = ["x"], output_names = ["y"], state_names = ["s"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>, %s: !dlx.buffer<tensor<8xf32>>):
  dlx.return %x, %x : !dlx.buffer<tensor<4xf32>>, !dlx.buffer<tensor<4xf32>>
}

// -----

dlx.program @unknown attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<4xf32>>
  // expected-error @+1 {{launches 'f', which is no dlx.kernel}}
  dlx.launch @f(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

dlx.kernel @f attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}
dlx.program @types attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<5xf32>>
  // expected-error @+1 {{has other buffers than kernel 'f' takes and gives}}
  dlx.launch @f(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<5xf32>>)
  dlx.return %y : !dlx.buffer<tensor<5xf32>>
}

// -----

dlx.kernel @f attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}
dlx.program @init attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc {persistent} : !dlx.buffer<tensor<4xf32>>
  // expected-error @+1 {{runs at load, but uses a buffer that is neither weight nor persistent}}
  dlx.launch @f(%x) -> (%y) {init} : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

dlx.kernel @f attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}
dlx.program @persistent attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc {persistent} : !dlx.buffer<tensor<4xf32>>
  // expected-error @+1 {{writes a persistent buffer; only init launches may}}
  dlx.launch @f(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<4xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4xf32>>
}

// -----

dlx.program @view attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4x8xf32>>):
  // expected-error @+1 {{needs equally many elements of one dtype, got 'tensor<4x8xf32>' and 'tensor<33xf32>'}}
  %y = dlx.view %x : !dlx.buffer<tensor<4x8xf32>> -> !dlx.buffer<tensor<33xf32>>
  dlx.return %y : !dlx.buffer<tensor<33xf32>>
}

// -----

dlx.program @layout attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<2x3xf32, #dl.t<[2, 3], order = [0, 1], tile = 3 of 1>>>):
  // expected-error @+1 {{needs buffers without tiles, got 'tensor<2x3xf32, #dl.t<[2, 3], order = [0, 1], tile = 3 of 1>>' and 'tensor<6xf32>'}}
  %y = dlx.view %x : !dlx.buffer<tensor<2x3xf32, #dl.t<[2, 3], order = [0, 1], tile = 3 of 1>>> -> !dlx.buffer<tensor<6xf32>>
  dlx.return %y : !dlx.buffer<tensor<6xf32>>
}

// -----

// expected-error @+1 {{takes tensors, got 'f32'}}
dlx.kernel @scalars attributes {kind = #dlx.kind<map>} {
^bb0(%x: f32):
  dl.yield
}

// -----

// expected-error @+1 {{needs a body that ends in dl.yield}}
"dlx.kernel"() <{sym_name = "returns", kind = #dlx.kind<map>}> ({
^bb0(%x: tensor<4xf32>):
  "dlx.return"() : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{needs a body that ends in dlx.return}}
"dlx.program"() <{sym_name = "yields", input_names = [], output_names = []}> ({
  "dl.yield"() : () -> ()
}) : () -> ()

// -----

// expected-error @+2 {{expected ::dlc::dlx::KernelKind to be one of: map, reduce, window, contraction, attention, recurrent, lines}}
// expected-error @+1 {{failed to parse DLX_KernelKindAttr parameter 'value'}}
dlx.kernel @unknown attributes {kind = #dlx.kind<sort>} {
^bb0(%x: tensor<8xf32>):
  dl.yield %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has the variant @g, which is no dlx.kernel without variants}}
dlx.kernel @f attributes {kind = #dlx.kind<map>, variants = [#dlx.variant<kernel = @g>]} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has the variant @g, which takes and gives other tensors}}
dlx.kernel @f attributes {kind = #dlx.kind<map>, variants = [#dlx.variant<kernel = @g, gpu = 90>]} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}
dlx.kernel @g attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<5xf32>):
  dl.yield %x : tensor<5xf32>
}

// -----

// expected-error @+1 {{a call has two limits for each of 1 shapes, got 1}}
dlx.kernel @f attributes {kind = #dlx.kind<map>, product_calls = [#dlx.call<gpu = 90, of = affine_map<()[s0] -> (s0)>, limits = [1]>]} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has calls of a library, and no product that it could compute}}
dlx.kernel @f attributes {kind = #dlx.kind<map>, product_calls = [#dlx.call<>]} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{a variant has two limits for each of 1 shapes, got 3}}
dlx.kernel @f attributes {kind = #dlx.kind<map>, variants = [#dlx.variant<kernel = @g, of = affine_map<()[s0] -> (s0)>, limits = [1, 2, 3]>]} {
^bb0(%x: tensor<4xf32>):
  dl.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{a part has a dim, and its first index and the buffer's extent along it, both over symbols alone}}
#part = #dlx.part<dim = 1, within = affine_map<() -> (4)>>

// -----

// expected-error @+1 {{writes a part, which a kernel with one result, none in place or in tiles, may do along one of its dims}}
dlx.kernel @part attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 1, within = affine_map<() -> (0, 8)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}

// -----

dlx.kernel @relu attributes {kind = #dlx.kind<map>, part = #dlx.part<dim = 0, within = affine_map<() -> (4, 12)>>} {
^bb0(%x: tensor<4xf32>):
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  dl.yield %y : tensor<4xf32>
}
dlx.program @whole attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4xf32>>):
  %y = dlx.alloc : !dlx.buffer<tensor<8xf32>>
  // expected-error @+1 {{has other buffers than kernel 'relu' takes and gives}}
  dlx.launch @relu(%x) -> (%y) : (!dlx.buffer<tensor<4xf32>>) -> (!dlx.buffer<tensor<8xf32>>)
  dlx.return %y : !dlx.buffer<tensor<8xf32>>
}
