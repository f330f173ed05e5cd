//===- Diagnostics.h - Errors and warnings at places of a source file ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything goes through MLIR's diagnostics, so that whoever listens there (a
// SourceMgrDiagnosticHandler, a test) sees the errors of the parser and those of the ops in one
// stream.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_SYNTAX_DIAGNOSTICS_H
#define DLC_FRONTEND_DL_SYNTAX_DIAGNOSTICS_H

#include "frontend/Spelling.h"
#include "frontend/dl/syntax/SourceIndex.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/SourceMgr.h"

namespace dlc::frontend {

/// Reports for a source file, the main buffer of `sources`, and those that it includes. All must
/// outlive it.
///
/// While it lives, it counts the errors that the context sees on this thread, whoever emits them,
/// and holds back those beyond `maxErrors`.
class Diagnostics {
public:
  static constexpr unsigned kMaxErrors = 20, kMaxWarnings = 100;
  /// So often is an error met again at its place, by a loop or by further instances of a block,
  /// before work stops: each time costs as much as the first.
  static constexpr unsigned kMaxRepeats = 200;

  Diagnostics(const llvm::SourceMgr &sources, mlir::MLIRContext &context,
              unsigned maxErrors = kMaxErrors);

  /// What is reported while one lives lies in the block of an instance: errors get a note "in
  /// 'path', " `what` at `loc`, and those at one place are reported once, however many instances
  /// have them.
  class InBlock {
  public:
    InBlock(Diagnostics &diagnostics, llvm::StringRef path, llvm::StringRef what, llvm::SMLoc loc);
    ~InBlock();
    InBlock(const InBlock &) = delete;
    InBlock &operator=(const InBlock &) = delete;

  private:
    Diagnostics &diagnostics;
  };

  /// While one lives, places outside of the sources, which are those of the compiler's library of
  /// functions, count as `call`, the place of the model's call of `function`: errors there get a
  /// note, and names are not noted.
  class InLibrary {
  public:
    InLibrary(Diagnostics &diagnostics, llvm::StringRef function, llvm::SMLoc call);
    ~InLibrary();
    InLibrary(const InLibrary &) = delete;
    InLibrary &operator=(const InLibrary &) = delete;

  private:
    Diagnostics &diagnostics;
    bool isOutermost;
  };

  mlir::InFlightDiagnostic error(llvm::SMLoc loc) { return mlir::emitError(translate(loc)); }
  mlir::InFlightDiagnostic warning(llvm::SMLoc loc) { return mlir::emitWarning(translate(loc)); }

  /// file:line:col in the buffer that holds `loc`, both from 1; the column counts bytes.
  mlir::Location translate(llvm::SMLoc loc) const;

  /// The module that the text becomes, whose symbols name the dims in messages; null before there
  /// is one.
  mlir::ModuleOp module;

  /// Where what stands for names is noted, if anybody asked; null if not. Must outlive this.
  SourceIndex *index = nullptr;
  /// Notes that `name`, a piece of the source, stands for what was defined at `definition` (nowhere
  /// in the text, if that is invalid), as `text` says it.
  void mention(Mention::Kind kind, llvm::StringRef name, llvm::SMLoc definition,
               llvm::function_ref<std::string()> text);
  SourcePlace placeOf(llvm::SMLoc loc) const;

  unsigned errorCount() const { return errors; }
  bool hasErrors() const { return errors > 0; }
  /// Further errors would not be seen: it is time to stop.
  bool isFull() const { return errors >= maxErrors || repeats >= kMaxRepeats; }

private:
  struct Block {
    llvm::StringRef path, what;
    llvm::SMLoc loc;
  };
  bool isRepeated(const mlir::Diagnostic &diagnostic);
  void addNotes(mlir::Diagnostic &diagnostic);

  const llvm::SourceMgr &sources;
  mlir::MLIRContext &context;
  std::vector<Block> blocks; // those that report lies in, the innermost last
  llvm::SMLoc libraryCall;   // of the library, in the sources; invalid outside of it
  llvm::DenseSet<std::pair<mlir::Location, uint64_t>> seen;
  unsigned maxErrors, errors = 0, repeats = 0, warnings = 0;
  mlir::ScopedDiagnosticHandler counter;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_DIAGNOSTICS_H
