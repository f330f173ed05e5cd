//===- CpuRunner.cpp - Runs dlx programs on the CPU in the test's own process -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/CpuRunner.h"

#include "codegen/Passes.h"
#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;

namespace dlc::test {

//===- Memory ---------------------------------------------------------------------------------===//

GuardedBuffer::GuardedBuffer(size_t bytes) : bytes(bytes) {
  size_t page = sysconf(_SC_PAGESIZE),
         aligned = (bytes + abi::kBufferAlignment - 1) & -abi::kBufferAlignment;
  size_t body = (aligned + page - 1) & -page;
  mapped = body + 2 * page;
  base =
      static_cast<uint8_t *>(mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (body)
    mprotect(base + page, body, PROT_READ | PROT_WRITE);
  begin = base + page + body - aligned;
  std::memset(base + page, 0xff, body);
}

GuardedBuffer::~GuardedBuffer() { munmap(base, mapped); }

bool GuardedBuffer::slackIntact() const {
  size_t page = sysconf(_SC_PAGESIZE);
  for (const uint8_t *at = base + page; at < begin; ++at)
    if (*at != 0xff)
      return false;
  for (const uint8_t *at = begin + bytes; at < base + mapped - page; ++at)
    if (*at != 0xff)
      return false;
  return true;
}

#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void callKernel(abi::CpuKernel kernel, const abi::CpuArgs &args, int64_t begin, int64_t end,
                void *scratch) {
  kernel(&args, begin, end, scratch);
}

/// The image as the loader maps it.
struct CpuRunner::Image {
  uint8_t *base;
  size_t bytes;

  explicit Image(const codegen::CpuCode &code) : bytes(code.image.size()) {
    base = static_cast<uint8_t *>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(base, code.image.data(), bytes);
    for (auto &[name, slot] : code.imports) {
      uint64_t address =
          name == "memcpy"
              ? reinterpret_cast<uint64_t>(
                    static_cast<void *(*)(void *, const void *, size_t)>(&memcpy))
              : reinterpret_cast<uint64_t>(static_cast<void *(*)(void *, int, size_t)>(&memset));
      std::memcpy(base + slot, &address, sizeof(address));
    }
    mprotect(base, bytes, PROT_READ | PROT_EXEC);
  }
  ~Image() { munmap(base, bytes); }
};

//===- Compilation ----------------------------------------------------------------------------===//

bool CpuRunner::canRun(codegen::IsaVariant isa) const {
  bool has = llvm::any_of(
      compiled, [&](const codegen::CpuCode &code) { return code.isa == codegen::isaName(isa); });
  switch (isa) {
  case codegen::IsaVariant::avx512Bf16:
    has &= bool(__builtin_cpu_supports("avx512bf16"));
    [[fallthrough]];
  case codegen::IsaVariant::avx512Vnni:
    has &= bool(__builtin_cpu_supports("avx512vnni"));
    [[fallthrough]];
  case codegen::IsaVariant::avx512:
    has &= __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
    [[fallthrough]];
  case codegen::IsaVariant::avx2:
    return has && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }
}

static double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}

CpuRunner::CpuRunner(const std::string &source) {
  DialectRegistry registry;
  registry.insert<dl::DLDialect, dlx::DLXDialect, arith::ArithDialect, func::FuncDialect,
                  LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  owned = parseSourceString<ModuleOp>(source, &context);
  if (!owned) {
    ADD_FAILURE() << "the test's program does not parse:\n" << source;
    return;
  }
  auto start = std::chrono::steady_clock::now();
  PassManager passes(&context);
  codegen::addScheduleCpu(passes);
  if (failed(passes.run(*owned))) {
    ADD_FAILURE() << "not scheduled:\n" << source;
    return;
  }
  scheduleMs = milliseconds(start);
  start = std::chrono::steady_clock::now();
  auto codes = codegen::compileCpuVariants(*owned);
  compileMs = milliseconds(start);
  if (failed(codes)) {
    ADD_FAILURE() << "not compiled:\n" << source;
    return;
  }
  compiled = std::move(*codes);
  for (const codegen::CpuCode &code : compiled)
    images.push_back(std::make_unique<Image>(code));
  valid = true;
}

CpuRunner::~CpuRunner() = default;

//===- Execution ------------------------------------------------------------------------------===//

static SmallVector<int64_t> evaluate(AffineMap map, const std::vector<int64_t> &symbols) {
  SmallVector<AffineExpr> values;
  for (int64_t value : symbols)
    values.push_back(getAffineConstantExpr(value, map.getContext()));
  SmallVector<int64_t> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(*dl::asConstant(dl::normalize(expr.replaceSymbols(values))));
  return results;
}

static size_t bytesOf(Type buffer, const std::vector<int64_t> &symbols) {
  auto tensor = cast<dlx::BufferType>(buffer).getTensor();
  AffineExpr elements = dl::storedElements(tensor);
  int64_t width = tensor.getElementType().getIntOrFloatBitWidth();
  return evaluate(AffineMap::get(0, symbols.size(), elements), symbols).front() * ((width + 7) / 8);
}

std::vector<Bytes> CpuRunner::run(codegen::IsaVariant isa, const std::vector<Bytes> &inputs,
                                  const std::map<std::string, Bytes> &weights,
                                  const std::vector<int64_t> &symbols, int64_t parts) {
  size_t variant = llvm::find_if(compiled,
                                 [&](const codegen::CpuCode &code) {
                                   return code.isa == codegen::isaName(isa);
                                 }) -
                   compiled.begin();
  assert(variant < compiled.size() && "canRun is false");
  auto program = *owned->getOps<dlx::ProgramOp>().begin();
  llvm::DenseMap<Value, std::shared_ptr<GuardedBuffer>> buffers;
  auto create = [&](Value value, const Bytes *contents) {
    auto buffer = std::make_shared<GuardedBuffer>(bytesOf(value.getType(), symbols));
    if (contents) {
      EXPECT_EQ(contents->size(), buffer->size());
      std::copy_n(contents->data(), std::min(contents->size(), buffer->size()), buffer->data());
    }
    buffers[value] = buffer;
  };
  for (auto [argument, contents] : llvm::zip_equal(program.getBodyBlock().getArguments(), inputs))
    create(argument, &contents);

  std::vector<Bytes> outputs;
  for (Operation &op : program.getBodyBlock()) {
    if (auto weight = dyn_cast<dlx::WeightOp>(op)) {
      create(weight.getBuffer(), &weights.at(weight.getName().str()));
    } else if (auto alloc = dyn_cast<dlx::AllocOp>(op)) {
      create(alloc.getBuffer(), nullptr);
    } else if (auto view = dyn_cast<dlx::ViewOp>(op)) {
      buffers[view.getView()] = buffers.lookup(view.getSource());
    } else if (auto launch = dyn_cast<dlx::LaunchOp>(op)) {
      auto kernel = owned->lookupSymbol<dlx::KernelOp>(launch.getKernel());
      std::vector<void *> pointers;
      for (Value operand : launch->getOperands())
        pointers.push_back(buffers.lookup(operand)->data());
      SmallVector<int64_t> dims = evaluate(*kernel.getDims(), symbols);
      SmallVector<int64_t> grid = evaluate(*kernel.getGrid(), symbols);
      int64_t tiles = grid.front(), phases = grid.size() > 1 ? grid.back() : 1;
      GuardedBuffer scratch(evaluate(*kernel.getScratch(), symbols).front());
      abi::CpuArgs args{pointers.data(), dims.data()};
      auto entry = compiled[variant].entries.at(kernel.getEntry()->str());
      auto code = reinterpret_cast<abi::CpuKernel>(images[variant]->base + entry);
      for (int64_t first = 0; first < tiles * phases; first += tiles)
        for (int64_t part = 0; part < parts; ++part)
          callKernel(code, args, first + tiles * part / parts, first + tiles * (part + 1) / parts,
                     scratch.data());
      if (kernel.getSymName() == timedKernel) {
        for (int i = 0; i < timedRepetitions; ++i) {
          auto start = std::chrono::steady_clock::now();
          callKernel(code, args, 0, tiles * phases, scratch.data());
          double taken = milliseconds(start) * 1e6;
          fastest = i == 0 ? taken : std::min(fastest, taken);
        }
      }
      for (Value operand : launch->getOperands())
        EXPECT_TRUE(buffers.lookup(operand)->slackIntact())
            << kernel.getSymName().str() << " wrote beside a buffer";
    } else {
      for (Value output : cast<dlx::ReturnOp>(op).getOutputs()) {
        auto buffer = buffers.lookup(output);
        outputs.emplace_back(buffer->data(), buffer->data() + buffer->size());
      }
    }
  }
  return outputs;
}

double CpuRunner::time(codegen::IsaVariant isa, const std::string &name,
                       const std::vector<Bytes> &inputs,
                       const std::map<std::string, Bytes> &weights, int repetitions) {
  timedKernel = name;
  timedRepetitions = repetitions;
  run(isa, inputs, weights);
  timedKernel.clear();
  return fastest;
}

} // namespace dlc::test
