// RUN: dlc-opt %s -pass-pipeline='builtin.module(builtin.module(func.func(form-fusions)))' -split-input-file -verify-diagnostics

module {
module @tpu {
// expected-error @+1 {{is in a module named 'tpu', and this tool has no schedules for such a target; expected a module like 'module @cpu', in a tool that has the target's code generator}}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
}
}

// -----

module {
module {
// expected-error @+1 {{is in a module named '', and this tool has no schedules for such a target}}
func.func @nameless(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
}
}
