//===- CompressPasses.td - Passes that prune and quantize ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_COMPRESS_COMPRESSPASSES_TD
#define DLC_PASSES_COMPRESS_COMPRESSPASSES_TD

include "passes/PassRecord.td"

def KeepSlower : Pass<"keep-slower", "::mlir::func::FuncOp"> {
  let summary = "Mark the products and look-ups that quantization is estimated to make slower";
  let description = [{
    A product that quantize-products would run on integers (`scheme=int8`) or in e4m3 (`fp8`), or
    whose weight quantize-weights would store in few bits (`w8`, `w4`), gets the attribute
    `dl.kept_by_cost` where the estimate of passes/compress/quantize/QuantizationGain.h says that
    this takes more time on every target of the file: then these passes leave it as it is. So do
    look-ups of tables. With `refits` the file has the weights of f32 for dlc refit: a table that
    look-ups alone read stays on the CPU, which maps the file and reads single rows of it, where
    integers would be made of all rows. The attribute holds the reason, which the driver prints.
    What stays on some of the targets gets `dl.kept_on`, the reason for each of these, and
    split-targets makes of it what holds for one. Without targets nothing is marked. Example:
    test/passes/compress/quantize/keep-slower.mlir.
    ```mlir
    %y = dl.linear %x, %w : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    // becomes, where conversions take more time than integers save
    %y = dl.linear %x, %w {dl.kept_by_cost = "int8 0.80x on cpu (convert 41 us)"} :
        (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    ```
  }];
  let options = [Option<"scheme", "scheme", "std::string", "\"int8\"",
                        "int8, dynamic (tables of look-ups alone), fp8, w8 or w4">,
                 Option<"refits", "refits", "bool", "false",
                        "The file holds the weights of f32, of which integers are made at load">,
                 ListOption<"targets", "targets", "std::string", "Targets of the file: cpu, cuda">,
                 Option<"precision", "precision", "std::string", "\"f32\"",
                        "What stays runs in f32, tf32, f16 or bf16">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numKept", "kept", "Products and look-ups that stay as they are">];
}

def SplitTargets : Pass<"split-targets", "::mlir::ModuleOp"> {
  let summary = "Give each target a module with the model of its own";
  let description = [{
    The function becomes one in `module @cpu` and one in `module @cuda`, for each target that is
    asked for; the symbols are theirs as well. All that follows decides for one target alone. A
    product that keep-slower keeps on some targets is kept in their modules: without the range of
    its activation, and without the addition that takes back what 8 bits change in its mean. `gpu`
    names the GPU whose model (ir/machine/GpuModel.h) the choices for `cuda` use, as the attribute
    `dl.gpu` of its module. Example: test/passes/compress/split-targets.mlir.
    ```mlir
    module { func.func @Net(...) }
    // becomes
    module { module @cpu { func.func @Net(...) } module @cuda { func.func @Net(...) } }
    ```
  }];
  let options = [ListOption<"targets", "targets", "std::string",
                            "Any of cpu and cuda; default both">,
                 Option<"gpu", "gpu", "int64_t", "0",
                        "The architecture of the only GPU that the file is for, 90 for sm_90; 0: any">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def StoreBlocks : Pass<"store-blocks", "::mlir::func::FuncOp"> {
  let summary = "Store weights without their blocks of zeros where the CPU is faster so";
  let description = [{
    A block is one column of 16 neighbouring rows of a weight of f32 [N, K], where the sums run
    along K: what `dlc prune --pattern block` makes zero together. The driver counts the blocks that
    are not zero of each weight whose numbers it may rely on, and writes the count to the weight as
    `dl.stored_blocks` (tools/driver/compress/sparse/BlockStorage.h). In module @cpu such a weight
    becomes the values of these blocks, their columns, and where the blocks of each panel begin,
    named after it (`.values`, `.columns`, `.starts`); the linear layers, matrix products and
    convolutions of one tap that read it become dl.block_sparse_linear. A factor for each row, which
    fold-batch-norm leaves, multiplies the stored blocks at load, each by those of its panel
    (`.panels`). Weights stay as they are where the estimate of passes/compress/sparse/BlockGain.h
    says that too few blocks are zero to gain by it; with `explain` a remark says so. So do weights
    without the count: other weights may take their place later. Example:
    test/passes/compress/sparse/store-blocks.mlir.
    ```mlir
    %w = dl.weight "w" {dl.stored_blocks = 9 : i64} : tensor<30x64xf32>
    %y = dl.linear %x, %w : (tensor<2x64xf32>, tensor<30x64xf32>) -> tensor<2x30xf32>
    // becomes
    %v = dl.weight "w.values" : tensor<9x16xf32>
    %c = dl.weight "w.columns" : tensor<9xi32>
    %s = dl.weight "w.starts" : tensor<3xi32>
    %y = dl.block_sparse_linear %x, %v, %c, %s {features = 30 : i64, dim = 1 : i64} :
        (tensor<2x64xf32>, tensor<9x16xf32>, tensor<9xi32>, tensor<3xi32>) -> tensor<2x30xf32>
    ```
  }];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Say of each weight how it is stored, and why">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numStored", "stored", "Weights without their blocks of zeros">,
                    Statistic<"numDense", "dense", "Weights that stay whole">];
}
def : MovesResults<"store-blocks", "inf",
                   "of the numbers that stand in for weights other blocks are zero">;

def StoreTwoOfFour : Pass<"store-two-of-four", "::mlir::func::FuncOp"> {
  let summary = "Store two of each four neighbours of weights where sparse tensor cores are faster so";
  let description = [{
    A weight [N, K] of f32, f16 or bf16, where the sums run along K, that has at most two numbers in
    each group of four neighbours along K, as `dlc prune --pattern 2:4` makes it. The driver counts
    the groups that have more and writes the count to each weight whose numbers it may rely on, as
    `dl.full_groups` (tools/driver/compress/sparse/TwoOfFourStorage.h). In module @cuda such a
    weight becomes two numbers of each group and their places, named after it (`.values`,
    `.places`); the linear layers, matrix products and convolutions of one tap that read it in f16
    or bf16 read dl.expand_two_of_four of both, which form-fusions makes a part of their kernels. A
    factor for each row multiplies the numbers, at load. Weights stay as they are where the estimate
    of the target's schedules says that this is slower; with `explain` a remark says so. So do
    weights without the count: other weights may take their place later. Example:
    test/passes/compress/sparse/store-two-of-four.mlir.
    ```mlir
    %w = dl.weight "w" {dl.full_groups = 0 : i64} : tensor<32x64xf32>
    %h = dl.cast %w {dtype = f16} : (tensor<32x64xf32>) -> tensor<32x64xf16>
    %y = dl.linear %x, %h : (tensor<2x64xf16>, tensor<32x64xf16>) -> tensor<2x32xf16>
    // becomes
    %v = dl.weight "w.values" : tensor<32x32xf32>
    %p = dl.weight "w.places" : tensor<32x8xui8>
    %c = dl.cast %v {dtype = f16} : (tensor<32x32xf32>) -> tensor<32x32xf16>
    %h = dl.expand_two_of_four %c, %p : (tensor<32x32xf16>, tensor<32x8xui8>) -> tensor<32x64xf16>
    %y = dl.linear %x, %h : (tensor<2x64xf16>, tensor<32x64xf16>) -> tensor<2x32xf16>
    ```
  }];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Say of each weight how it is stored, and why">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numStored", "stored",
                              "Weights of which two of each four neighbours are stored">,
                    Statistic<"numDense", "dense", "Weights that stay whole">];
}
def : MovesResults<"store-two-of-four", "inf",
                   "of the numbers that stand in for weights others are zero">;

def TapActivations : Pass<"tap-activations", "::mlir::func::FuncOp"> {
  let summary = "Make the activations that products read results of the model, to be measured";
  let description = [{
    What quantize-products would quantize is put before the results of the function, each value once
    and in program order, named `tap.0`, `tap.1` and so on. `dlc compile --quantize` runs such a
    copy of the model on the user's data to find the range of each. With `packable` what products
    read that quantize-weights would give weights in few bits. `keep-f32` as in quantize-products.
    Example: test/passes/compress/quantize/tap-activations.mlir.
  }];
  let options = [Option<"packable", "packable", "bool", "false",
                        "Of products whose weights quantize-weights packs">,
                 ListOption<"keepF32", "keep-f32", "std::string",
                            "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

def QuantizeProducts : Pass<"quantize-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply integers of 8 bits where a product reads weights";
  let description = [{
    An activation x of the range that the attribute `dl.activation_range` of its product gives
    becomes u8, q = round(x / scale) + zero point, where the range takes in 0 and the zero point
    stands for it exactly. The weights become i8, with a scale of their own for each channel of the
    result, which is computed from them at load. The product adds in i32 and is exact; its result is
    scaled back to f32, and the bias is added to that. A value that several products read is
    quantized once. A value that pooling or an op that moves elements has made is quantized before
    it, so that these work on bytes. Products without the attribute stay as they are. A weight of
    which look-ups take rows becomes i8 with a scale for each row, too, and the look-ups take rows
    of both, unless something else reads it than look-ups and products that become such. A product
    of it shares the integers. With `scheme=dynamic` matrix products need no attribute: the range of
    each row of x, of all that one sum reads, is found when the model runs, and makes scale and zero
    point of the row by the formula of ONNX's DynamicQuantizeLinear. The zero point is taken off the
    sums. Convolutions stay. With `scheme=fp8` x / s and w / t are rounded to e4m3, where s takes
    the largest magnitude of the range to 448, and t that of a channel's weights; they are
    multiplied and added in f32. With `symmetric` x becomes i8 without a zero point, the larger end
    of the range as 127 steps. With `per-tensor` all weights of a product share a scale. Example:
    test/passes/compress/quantize/quantize-products.mlir.
  }];
  let options = [Option<"scheme", "scheme", "std::string", /*default=*/"\"int8\"",
                        "int8, dynamic or fp8">,
                 Option<"symmetric", "symmetric", "bool", "false",
                        "Activations are i8 and have no zero point">,
                 Option<"perTensor", "per-tensor", "bool", "false",
                        "All weights of a product share a scale">,
                 ListOption<"keepF32", "keep-f32", "std::string",
                            "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numQuantized", "quantized", "Products of integers of 8 bits">,
                    Statistic<"numKept", "kept", "Products of weights that stay in f32">,
                    Statistic<"numTables", "tables", "Tables of look-ups that become integers">,
                    Statistic<"numTablesKept", "tables-kept",
                              "Tables of look-ups that stay in f32">];
}
def : MovesResults<"quantize-products", "inf",
    "what lies outside the range that calibration saw is cut off, however far it lies outside">;

def QuantizeWeights : Pass<"quantize-weights", "::mlir::func::FuncOp"> {
  let summary = "Store matmul and embedding weights in 4 or 8 bits, dequantized by the kernels that read them";
  let description = [{
    A weight of f32 that matrix products have as second operand, or of which look-ups take rows,
    becomes integers and scales, and the numbers that these stand for are plain arithmetic, (code -
    zero point) * scale, the two of each `group` codes along K of [N, K], where the sums run along
    K; of each row with `group=0`, and of the whole weight with `per-tensor`. With `symmetric` all
    have the zero point 0 of i8, or 8 of 4 bits. The codes of byte i of a row of 4 bits are those of
    column i (low bits) and of column K / 2 + i, rounded up. Tables that look-ups alone read have 8
    bits and a scale for each row where the others have 4. The new weights are named after the old
    one (`.codes`, `.scale`, `.zero`); the driver fits them (tools/driver/calibrate/WeightFit.h).
    form-fusions makes the arithmetic a part of its readers' kernels. Weights that something else
    reads stay, and those that `keep-f32` names. Example:
    test/passes/compress/quantize/quantize-weights.mlir.
    ```mlir
    %y = dl.linear %x, %w : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    // becomes, with bits=8
    %c = dl.weight "w.codes" : tensor<8x32xi8>
    %s = dl.weight "w.scale" : tensor<8x1xf32>
    %n = dl.cast %c {dtype = f32} : (tensor<8x32xi8>) -> tensor<8x32xf32>
    %b = dl.broadcast %s : (tensor<8x1xf32>) -> tensor<8x32xf32>
    %w = dl.mul %n, %b : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %y = dl.linear %x, %w : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
    ```
  }];
  let options = [Option<"bits", "bits", "unsigned", "8", "4 or 8">,
                 Option<"group", "group", "int64_t", "0",
                        "Neighbours of a row that share a scale; 0: all of them">,
                 Option<"symmetric", "symmetric", "bool", "true", "All scales have one zero point">,
                 Option<"perTensor", "per-tensor", "bool", "false",
                        "All weights of a matrix share a scale">,
                 ListOption<"keepF32", "keep-f32", "std::string",
                            "Layers, nodes and ops that stay in f32">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
  let statistics = [Statistic<"numPacked", "packed", "Weights in few bits">,
                    Statistic<"numKept", "kept",
                              "Weights of products and look-ups that stay in f32">];
}
def : MovesResults<"quantize-weights", "inf",
    "the nearest of 16 numbers may lie far from a weight, and errors of many layers add up">;

#endif // DLC_PASSES_COMPRESS_COMPRESSPASSES_TD
