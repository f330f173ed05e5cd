// RUN: dlc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(builtin.module(dl-build-kernels-cuda))'
// RUN: sed s/@cuda/@cpu/ %s | dlc-opt --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(builtin.module(dl-build-kernels-cpu))'
// Plans of schedules that there are not.

module {
module @cuda {
  // expected-error@+1 {{'dlx.kernel' op has a plan of schedule 'magic', which there is not}}
  dlx.kernel @planned attributes {kind = #dlx.kind<map>, plan = #dlx.plan<schedule = "magic", ns = 1>} {
  ^bb0(%x: tensor<8xf32>):
    %y = dl.relu %x : (tensor<8xf32>) -> tensor<8xf32>
    dl.yield %y : tensor<8xf32>
  }
}
}
