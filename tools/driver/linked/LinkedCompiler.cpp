//===- LinkedCompiler.cpp - The compiler in this process, of all its parts ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/Compiler.h"
#include "tools/driver/compiler/Compile.h"
#include "tools/driver/compress/CompressionHook.h"
#include "tools/driver/compress/Quantize.h"
#include "tools/driver/compress/prune/Prune.h"
#include "tools/driver/inspect/List.h"
#include "tools/driver/precision/Bisect.h"
#include "tools/driver/precision/PrecisionHook.h"
#include "tools/driver/source/Check.h"
#include "tools/driver/source/Format.h"
#include "tools/driver/source/ImportAsText.h"
#include "tools/driver/source/InspectSource.h"
#include "tools/driver/train/Grad.h"
#include "tools/driver/train/Train.h"
#include "tools/driver/tune/MeasuredPlansHook.h"
#include "tools/driver/tune/Tune.h"

namespace dlc {

static int compileWithAllHooks(const CompileOptions &options) {
  return compileModel(options, {makePrecisionHook, makeCompressionHook, makeMeasuredPlansHook});
}

static int tune(const TuneOptions &options) { return tuneModel(options, compileWithAllHooks); }

static int train(const TrainOptions &options) { return trainModel(options, compileWithAllHooks); }

const Compiler kLinkedCompiler = {compileWithAllHooks, checkModel,  formatFiles, inspectSource,
                                  importAsText,        gradModel,   train,       pruneModel,
                                  quantizeModel,       bisectModel, tune,        listLanguage};

} // namespace dlc
