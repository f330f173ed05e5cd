//===- Passes.td - All passes over the graph and the program ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass Foo lives in Foo.cpp, has the flag `foo` and the test foo.mlir below test/passes.
// Pipelines.cpp says when each runs. Phases with several passes have a file of records each, in
// their folders; here are the others.
#ifndef DLC_PASSES_PASSES_TD
#define DLC_PASSES_PASSES_TD

include "passes/compress/CompressPasses.td"
include "passes/differentiate/DifferentiatePasses.td"
include "passes/fuse/FusePasses.td"
include "passes/layout/LayoutPasses.td"
include "passes/precision/PrecisionPasses.td"
include "passes/raise/RaisePasses.td"
include "passes/segment/SegmentPasses.td"
include "passes/simplify/SimplifyPasses.td"

//===- import ---------------------------------------------------------------------------------===//

def SpecializeShapes : Pass<"specialize-shapes", "::mlir::ModuleOp"> {
  let summary = "Narrow or fix the symbolic dims of a model by shapes of its inputs";
  let description = [{
    Shapes are written as `x:8x3x224x224,mask:8x64`. Those of `min-shapes` and `max-shapes` are the
    smallest and the largest that will come, `shapes` both at once; inputs that are not named keep
    what they have. A symbol whose range becomes one value is replaced by it. `opt-shapes`, which
    lie between, become the `usual` sizes of the symbols that they give: schedules choose tiles for
    these, and what they make holds for the whole range. A dim such as 2*N + 1 gives N where that is
    the only unknown. Runs before the phases, on IR that --compile-from=import brings: the frontends
    narrow the symbols of models themselves, before any op is made. Example:
    test/passes/simplify/specialize-shapes.mlir.
  }];
  let options = [Option<"shapes", "shapes", "std::string", "", "The only shapes that will come">,
                 Option<"minShapes", "min-shapes", "std::string", "", "The smallest ones">,
                 Option<"maxShapes", "max-shapes", "std::string", "", "The largest ones">,
                 Option<"optShapes", "opt-shapes", "std::string", "", "Those to be fast for">];
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

//===- outline --------------------------------------------------------------------------------===//

def OutlineKernels : Pass<"outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn the function of fusions into a program of launches";
  let description = [{
    Runs on the module of one target. A dl.fusion becomes a dlx.kernel, shared by all fusions that
    compute the same, and a launch of it, which keeps why it is apart from others; one that is in
    place writes the state that it reads, and those whose results a dl.cat joins write parts of one
    buffer. Others that read such a result read it there, by a dl.part. The function becomes a
    dlx.program. What depends on weights alone is launched at load into persistent buffers. Kernels
    are named after their ops, never after the model's own names. Example:
    test/passes/outline/outline-kernels.mlir.
  }];
  let dependentDialects = ["::dlc::dl::DLDialect", "::dlc::dlx::DLXDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels made">,
                    Statistic<"numShared", "shared", "Fusions that share an earlier kernel">];
}

//===- buffers --------------------------------------------------------------------------------===//

def PlanBuffers : Pass<"plan-buffers", "::mlir::ModuleOp"> {
  let summary = "Give every output memory of its own and record how long each buffer lives";
  let description = [{
    Runs on the programs of all targets. Where an output is an input, a weight, a view or an output
    already, a copy is made. A state gets its new value by a copy at the end. On targets whose maps
    may overwrite an operand (the CPU), a map that is the last to read the old value, element by
    element, writes the new one there; not in modules with counted symbols, where a run may fail
    when all is computed, and must leave the states as they were. Each dlx.alloc that is not
    persistent gets `first_use` and `last_use`: the first and last of the program's main commands
    (launches that are not `init`, and copies, counted from 0) that touch it; an output lives to the
    last command. The runtime places buffers by them, so that two whose lifetimes meet never
    overlap. Examples: test/passes/buffers.
  }];
  let dependentDialects = ["::dlc::dlx::DLXDialect"];
  let statistics = [Statistic<"numCopies", "copies", "Copies inserted for outputs">,
                    Statistic<"numOverwritten", "overwritten",
                              "States that a map overwrites with their new values">];
}

//===- all phases -----------------------------------------------------------------------------===//

def VerifyPhase : Pass<"verify-phase", "::mlir::ModuleOp"> {
  let summary = "Check what must be gone and what must be there after a phase";
  let description = [{
    Closes each phase; a violation is an error of dlc's, or of a hand-written file given to
    --compile-from. Example: test/passes/verify-phase.mlir.
  }];
  let options = [Option<"phase", "phase", "std::string", "", "Name of the phase that has ended">];
  // The dialect knows the targets, also where the module is empty.
  let dependentDialects = ["::dlc::dl::DLDialect"];
}

#endif // DLC_PASSES_PASSES_TD
