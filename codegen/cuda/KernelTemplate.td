//===- KernelTemplate.td - The part of a GPU kernel that is written by hand -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel IR is upstream dialects and this one op. It lives with the templates that it names.
#ifndef DLC_CODEGEN_KERNELS_KERNELTEMPLATE_TD
#define DLC_CODEGEN_KERNELS_KERNELTEMPLATE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def DLK_Dialect : Dialect {
  let name = "dlk";
  let cppNamespace = "::dlc::dlk";
  let summary = "Calls of hand-written kernel templates in kernel IR";
  let description = [{
    A tensor-core kernel is kernel IR like any other, with its main loop in a `.cuh` template: the
    addresses, the values on the way in and what becomes of the totals stay IR, as regions.
  }];
  let useDefaultTypePrinterParser = 1;
}

def DLK_TensorMap : TypeDef<DLK_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "Describes a matrix in memory to the hardware that copies boxes of it";
  let description = [{
    A parameter of kernels for sm_90a, made by the runtime where the shapes are bound. Templates
    take its address.
  }];
}

def DLK_CallOp : Op<DLK_Dialect, "call",
                    [RecursiveMemoryEffects, MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "Calls a function template of the device headers";
  let description = [{
    Stands in a gpu.func. `callee` is a function template of `header`; `type` and the integers of
    `config` become a local struct that it is instantiated with, `values` and then the bodies its
    arguments. A body is printed as a lambda whose parameters are called `roles`; it may use what is
    defined outside. Of buffers among the values the template only reads; what the kernel writes,
    its bodies store. Only `exchange`, the argument behind the values, is written too: memory
    through which its blocks pass on what they have. A call without bodies has an effect as well: it
    may leave values in the block's dynamic shared memory for a later one.
    ```mlir
    dlk.call "contract_mma" in "dlc_contract.cuh" type = f16 config = {stages = 3 : i64}
      roles = [["m", "n", "total"]] () {
    ^bb0(%m: index, %n: index, %total: vector<8xf32>):
      dlk.give
    }
    ```
  }];
  let arguments = (ins StrAttr:$callee, StrAttr:$header, TypeAttr:$type, DictionaryAttr:$config,
      ArrayAttr:$roles, Arg<Variadic<AnyType>, "", [MemRead]>:$values,
      Arg<Optional<AnyMemRef>, "", [MemRead, MemWrite]>:$exchange);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = [{
    $callee `in` $header `type` `=` $type
    `config` `=` $config `roles` `=` $roles `(` ($values^ `:` type($values))? `)`
    (`exchange` `(` $exchange^ `:` type($exchange) `)`)?
    $bodies attr-dict
  }];
  let hasVerifier = 1;
}

def DLK_GiveOp : Op<DLK_Dialect, "give", [Pure, Terminator, HasParent<"CallOp">]> {
  let summary = "The value of a body of dlk.call, or none";
  let description = [{
    ```mlir
    dlk.give %offset : index
    ```
  }];
  let arguments = (ins Optional<AnyType>:$value);
  let assemblyFormat = "($value^ `:` type($value))? attr-dict";
}

#endif // DLC_CODEGEN_KERNELS_KERNELTEMPLATE_TD
