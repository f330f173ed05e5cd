//===- PassRecord.td - What the record of a pass may say -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_PASSRECORD_TD
#define DLC_PASSES_PASSRECORD_TD

include "mlir/Pass/PassBase.td"
include "llvm/TableGen/SearchableTable.td"

/// How far a pass may move the results, as a fraction of the largest magnitude in the output: what
/// --validate-passes allows beside the rounding of the dtype; "inf" where it depends on the data. A
/// pass without this record must leave every value as it was.
class MovesResults<string flag, string fraction, string why> {
  string Flag = flag;
  string Fraction = fraction;
  string Why = why;
}
def PassBounds : GenericTable {
  let FilterClass = "MovesResults";
  let CppTypeName = "PassBound";
  let Fields = ["Flag", "Fraction", "Why"];
}

#endif // DLC_PASSES_PASSRECORD_TD
