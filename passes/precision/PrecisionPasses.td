//===- PrecisionPasses.td - Passes that choose types of numbers ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_PRECISION_PRECISIONPASSES_TD
#define DLC_PASSES_PRECISION_PRECISIONPASSES_TD

include "passes/PassRecord.td"

def ConvertPrecision : Pass<"convert-precision", "::mlir::func::FuncOp"> {
  let summary = "Run a model of f32 in f16 or bf16, where that is safe";
  let description = [{
    Each record of an op has a rule (`precision` in ir/dl/base/DLBase.td). Products and recurrences
    read operands of `dtype` and add in f32. Ops that neither grow nor shrink numbers run in `dtype`
    where all their operands come so, weights and numbers that fit counted in. All others stay in
    f32: exponentials, logarithms, quotients, sums, places. A cast stands where one meets the other.
    Arguments, results, states, f64 and casts of the user's own stay as they are, and so does what
    `keep-f32` names: globs over paths of layers, names of ONNX nodes and names of ops. Weights are
    cast once at load. Between kernels values are stored in `dtype`; inside a kernel all is computed
    in f32. An op with the attribute `dl.keep_f32`, which `dlc compile --precision mixed` writes,
    stays in f32, too. Example: test/passes/precision/convert-precision.mlir.
    ```mlir
    %y = dl.linear %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
    ```
    becomes
    ```mlir
    %0 = dl.cast %x {dtype = f16} : (tensor<2x8xf32>) -> tensor<2x8xf16>
    %1 = dl.cast %w {dtype = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
    %2 = dl.linear %0, %1 : (tensor<2x8xf16>, tensor<4x8xf16>) -> tensor<2x4xf16>
    %y = dl.cast %2 {dtype = f32} : (tensor<2x4xf16>) -> tensor<2x4xf32>
    ```
  }];
  let options = [Option<"dtype", "dtype", "std::string", /*default=*/"\"f16\"", "f16 or bf16">,
                 ListOption<"keepF32", "keep-f32", "std::string",
                            "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Ops that run in 16 bits">,
                    Statistic<"numKept", "kept", "Ops that would, but for keep-f32">];
}
def : MovesResults<"convert-precision", "0.16",
                   "bf16 keeps 8 bits: some forty roundings of 2^-8, one a layer">;

def AllowTf32 : Pass<"allow-tf32", "::mlir::func::FuncOp"> {
  let summary = "Let GPUs round the factors of products of f32 to 11 bits";
  let description = [{
    Products and convolutions whose result is f32 get the attribute `dl.tf32`, but for those that
    `keep-f32` names. CUDA's schedules compute such products on tensor cores; a kernel of several
    products does so where all have it. The CPU and the interpreter compute as ever. Example:
    test/passes/precision/allow-tf32.mlir.
  }];
  let options = [ListOption<"keepF32", "keep-f32", "std::string",
                            "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numAllowed", "allowed", "Products that may be rounded">,
                    Statistic<"numKept", "kept", "Products that would be, but for keep-f32">];
}

def ConvertSignature : Pass<"convert-signature", "::mlir::func::FuncOp"> {
  let summary = "Give the inputs and outputs that are f32, f16 or bf16 another of these types";
  let description = [{
    An input is cast to the type that the model declares, and an output from it; states stay as they
    are. Before convert-precision, which takes an input of 16 bits as it is. Example:
    test/passes/precision/convert-signature.mlir.
  }];
  let options = [Option<"dtype", "dtype", "std::string", /*default=*/"\"f32\"",
                        "f16, bf16 or f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numInputs", "inputs", "Inputs of another type">,
                    Statistic<"numOutputs", "outputs", "Outputs of another type">];
}
def : MovesResults<"convert-signature", "0.16",
                   "bf16 keeps 8 bits of each input, and layers add up what that costs">;

def SimulatePrecision : Pass<"simulate-precision", "::mlir::func::FuncOp"> {
  let summary = "Run a model of f32 as if layers ran in f16 or bf16, by choice of an input";
  let description = [{
    Each op that convert-precision would convert gets its operands and results rounded to `dtype`
    and back where an input says so: `narrow.layers`, an i1 for each set of layers on which an op
    depends, is put before the inputs. A product has the set of its own layer; what follows products
    runs in 16 bits where all of their layers do. Results that a kernel will take in are not
    rounded, since kernels compute in f32. So one program measures what each layer costs. The
    smallest and the largest number that each layer reads or gives are put before the outputs, as
    `low.0`, `high.0`, `low.1` and so on. `dlc compile --precision mixed` and `dlc bisect` run such
    a copy of the model on the user's data. `keep-f32` as in convert-precision. Example:
    test/passes/precision/simulate-precision.mlir.
  }];
  let options = [Option<"dtype", "dtype", "std::string", /*default=*/"\"f16\"", "f16 or bf16">,
                 ListOption<"keepF32", "keep-f32", "std::string",
                            "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

#endif // DLC_PASSES_PRECISION_PRECISIONPASSES_TD
