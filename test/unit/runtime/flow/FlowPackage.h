//===- FlowPackage.h - Small packages with flows, made by hand ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_RUNTIME_FLOW_FLOWPACKAGE_H
#define DLC_TEST_UNIT_RUNTIME_FLOW_FLOWPACKAGE_H

#include "test/unit/runtime/PackageBuilder.h"

namespace dlc::test {

/// A segment whose program is one launch of one kernel, on all inputs and outputs in turn.
struct OneKernel : PackageBuilder {
  /// `dims` are passed after the buffers.
  OneKernel &onCpu(abi::CpuKernel function, const std::vector<Expr> &dims = {});
  /// The kernel's name in `source` is "k".
  OneKernel &onCuda(const std::string &source, const std::vector<Expr> &dims = {});
  /// The symbol's value comes from the flow.
  Expr given(const std::string &name, int64_t min, int64_t max);

private:
  std::vector<schema::Arg> arguments(const std::vector<Expr> &dims);
};

using Indices = std::vector<uint32_t>;

/// A package with a flow under construction. Block 0 is there from the begin.
struct FlowPackage : PackageBuilder {
  FlowPackage();

  /// Inputs come first, then states: each is a slot of its number.
  uint32_t inputSlot(const std::string &name, schema::DType dtype, const std::vector<Expr> &dims,
                     const std::vector<int64_t> &slotDims);
  uint32_t stateSlot(const std::string &name, schema::DType dtype, const std::vector<Expr> &dims,
                     const std::vector<int64_t> &slotDims);
  uint32_t slot(schema::DType dtype, const std::vector<int64_t> &dims);
  /// After all symbols.
  uint32_t number();
  /// A symbol that a step sets, whose number is its index.
  Expr readSymbol(const std::string &name, int64_t min, int64_t max);
  uint32_t segment(const PackageBuilder &builder);
  uint32_t block();
  void result(const std::string &name, schema::DType dtype, const std::vector<Expr> &dims,
              uint32_t slot);

  void call(uint32_t block, uint32_t segment, Indices inputs, Indices outputs,
            Indices numbers = {});
  void read(uint32_t block, uint32_t slot, uint32_t number, const std::string &what = "the size n");
  void size(uint32_t block, uint32_t slot, uint32_t dim, uint32_t number);
  schema::IfStepT &branch(uint32_t block, uint32_t condition, uint32_t thenBlock,
                          uint32_t elseBlock);
  schema::LoopStepT &loop(uint32_t block, uint32_t body);

  schema::FlowT &flow() { return *module.flow; }

private:
  template <class Step> Step &add(uint32_t block, Step step);
};

/// Segments for the CPU and CUDA. x f32[N] -> 2 x.
PackageBuilder twiceSegment();
/// x f32[N] -> f32[N + 1], N appended.
PackageBuilder appendSegment();
/// x f32[N] -> whether N < 6.
PackageBuilder isShortSegment();
/// The given n -> f32[n], each n.
PackageBuilder fillSegment();
/// a i64[], b i64[] -> a + b.
PackageBuilder addSegment();

/// A flow with a step of each kind: (x f32[N], trips i64[], doubles bool[]) -> y, filled. If
/// `doubles`, y is x doubled `trips` times; else x with its size appended while that is less than
/// 6. `filled` are `trips` elements, each `trips`.
FlowPackage sampleFlow();
/// (trips i64[], start i64[]) -> the sum of start and of the numbers of the steps, the sums after
/// each step.
FlowPackage sumsFlow();

} // namespace dlc::test

#endif // DLC_TEST_UNIT_RUNTIME_FLOW_FLOWPACKAGE_H
