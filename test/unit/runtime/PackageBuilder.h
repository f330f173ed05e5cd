//===- PackageBuilder.h - Small packages made by hand, without the compiler -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's tests need packages of every kind, wrong ones above all. CPU kernels are functions
// of the test program: the code image holds jumps to them, so kernels are ordinary C++ that
// sanitizers see.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_RUNTIME_PACKAGEBUILDER_H
#define DLC_TEST_UNIT_RUNTIME_PACKAGEBUILDER_H

#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/ModuleHeader.h"
#include "runtime/schema/module_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dlc::test {

/// Index of a row of the expression table.
struct Expr {
  uint32_t row;
};

/// A package under construction. Tests may change `module` at will before file().
class PackageBuilder {
public:
  PackageBuilder();

  Expr symbol(const std::string &name, int64_t min, int64_t max);
  Expr constant(int64_t value);
  Expr apply(schema::ExprOp op, Expr lhs, Expr rhs);
  Expr product(const std::vector<Expr> &factors);

  uint32_t input(const std::string &name, schema::DType dtype, const std::vector<Expr> &dims);
  uint32_t output(const std::string &name, schema::DType dtype, const std::vector<Expr> &dims);
  uint32_t weight(const std::string &name, const std::vector<float> &values,
                  const std::vector<uint64_t> &dims);

  /// Programs: the newest is the current one, to which the rest adds.
  schema::ProgramT &program(schema::Target target);

  /// A row-major buffer of `dims`; `index` as the storage needs it.
  uint32_t buffer(schema::Storage storage, schema::DType dtype, const std::vector<Expr> &dims,
                  uint32_t index = 0, uint32_t firstUse = 0, uint32_t lastUse = 0);
  /// A CPU kernel that is `function` of this process.
  uint32_t kernel(const std::string &name, abi::CpuKernel function);
  /// A CUDA kernel of `source`, with blocks of `threads`.
  uint32_t cudaKernel(const std::string &name, const std::string &source, uint32_t threads);
  /// Code of the current program's source, for an architecture.
  void cubin(uint32_t source, uint32_t arch, schema::CubinVariant variant, const std::string &code);
  void launch(uint32_t kernel, const std::vector<schema::Arg> &args, const std::vector<Expr> &grid,
              Expr scratch = {0}, bool init = false);
  void copy(uint32_t source, uint32_t target);

  static schema::Arg buffer(uint32_t index) { return {schema::ArgKind::buffer, index}; }
  static schema::Arg dim(Expr expr) { return {schema::ArgKind::dim, expr.row}; }

  /// The whole file, hashes right.
  std::vector<uint8_t> file() const;

  schema::ModuleT module;
  /// The modules that the flow calls.
  std::vector<PackageBuilder> segments;
  /// Bytes of the weights, and of the images of each program in turn.
  std::vector<std::vector<uint8_t>> weightBytes, imageBytes;
  /// Bytes of the cubins, in the order of programs and sources.
  std::vector<std::vector<uint8_t>> cubinBytes;
};

/// Sets the hashes of the header and the table, after a change to either.
void rehash(std::vector<uint8_t> &file);

/// y = 2 * x + w over f32[N,4], w of 4, N in 0..64, in two launches through an arena buffer.
PackageBuilder affinePackage();
/// y = the x of the run before, over f32[N,4], N in 1..64: a state and two copies.
PackageBuilder delayPackage(schema::Target target);

} // namespace dlc::test

#endif // DLC_TEST_UNIT_RUNTIME_PACKAGEBUILDER_H
