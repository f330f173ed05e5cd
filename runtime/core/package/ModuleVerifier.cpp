//===- ModuleVerifier.cpp - What stands outside the programs ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/ModuleVerifier.h"
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"
#include "runtime/core/flow/FlowVerifier.h"
#include "runtime/schema/ModuleHeader.h"

#include <algorithm>
#include <unordered_set>

using namespace dlc;
using namespace dlc::rt;

static constexpr size_t kMaxNameBytes = 1 << 24;
/// Writers may align segments to a page at most.
static constexpr uint64_t kMaxGap = 4096;

template <class List> static size_t sizeOf(const List *list) { return list ? list->size() : 0; }

static Status checkName(const std::string &where, const flatbuffers::String *name) {
  if (!name || name->size() == 0 || name->size() > kMaxNameBytes)
    return refuseModule(where, "expected a name of 1 to ", kMaxNameBytes, " bytes");
  if (!isCleanUtf8(name->string_view()))
    return refuseModule(where, "the name ", quoted(name->string_view()),
                        " has control characters or is no UTF-8");
  return {};
}

/// Names of one list, which must differ.
template <class List> static Status checkNames(const char *kind, const List *list) {
  std::unordered_set<std::string_view> seen;
  for (size_t i = 0; i < sizeOf(list); ++i) {
    const flatbuffers::String *name = list->Get(i)->name();
    DLC_TRY(checkName(text(kind, " ", i), name));
    if (!seen.insert(name->string_view()).second)
      return refuseModule(text(kind, " ", i), "the name ", quoted(name->string_view()),
                          " occurs twice");
  }
  return {};
}

static Status checkSymbols(const schema::Module &module) {
  DLC_TRY(checkNames("symbol", module.symbols()));
  for (size_t i = 0; i < sizeOf(module.symbols()); ++i) {
    const schema::Symbol &symbol = *module.symbols()->Get(i);
    std::string where = text("symbol ", quoted(symbol.name()->string_view()));
    bool isGiven = module.given() && std::find(module.given()->begin(), module.given()->end(), i) !=
                                         module.given()->end();
    bool mayBeNegative = symbol.is_derived() || symbol.read() || isGiven;
    if ((symbol.min() < 0 && !mayBeNegative) || symbol.min() > symbol.max())
      return refuseModule(where, "expected a range of non-negative values, got ", symbol.min(),
                          "..", symbol.max());
    int64_t largest;
    if (symbol.step() < 1 || symbol.offset() < 0 ||
        !checkedMul(symbol.step(), symbol.max(), largest) ||
        !checkedAdd(largest, symbol.offset(), largest))
      return refuseModule(where, "expected a step of 1 or more and an offset of 0 or more, got ",
                          symbol.step(), " and ", symbol.offset());
    if (symbol.is_derived() && symbol.counted())
      return refuseModule(where, "it is derived and counted; expected one of these");
  }
  return {};
}

/// Definitions name symbols before their own, and inputs tell the others.
static Status checkDerived(const schema::Module &module, const Expressions &expressions) {
  for (size_t i = 0; i < sizeOf(module.symbols()); ++i) {
    const schema::Symbol &symbol = *module.symbols()->Get(i);
    std::string where = text("symbol ", quoted(symbol.name()->string_view()));
    if (!symbol.is_derived())
      continue;
    if (symbol.derived() >= expressions.size())
      return refuseModule(where, "its definition is expression ", symbol.derived(), "; there are ",
                          expressions.size());
    for (uint32_t other : expressions.symbolsOf(symbol.derived()))
      if (other >= i || module.symbols()->Get(other)->counted())
        return refuseModule(where, "its definition names symbol ", other,
                            "; expected earlier ones that are not counted");
  }
  // The flow gives a segment all that definitions name.
  for (size_t i = 0; !module.given() && i < sizeOf(module.inputs()); ++i) {
    const schema::Value &input = *module.inputs()->Get(i);
    for (size_t dim = 0; dim < sizeOf(input.dims()); ++dim)
      for (uint32_t symbol : expressions.symbolsOf(input.dims()->Get(dim)))
        if (module.symbols()->Get(symbol)->is_derived())
          return refuseModule(text("input ", quoted(input.name()->string_view())), "dim ", dim,
                              " depends on a derived symbol");
  }
  return {};
}

static Status checkValues(const char *kind, const Expressions &expressions,
                          const flatbuffers::Vector<flatbuffers::Offset<schema::Value>> *values) {
  DLC_TRY(checkNames(kind, values));
  for (size_t i = 0; i < sizeOf(values); ++i) {
    const schema::Value &value = *values->Get(i);
    std::string where = text(kind, " ", quoted(value.name()->string_view()));
    if (!isDType(static_cast<int>(value.dtype())))
      return refuseModule(where, "unknown element type ", static_cast<int>(value.dtype()));
    if (sizeOf(value.dims()) > DLC_MAX_RANK)
      return refuseModule(where, "expected at most ", DLC_MAX_RANK, " dims, got ",
                          value.dims()->size());
    for (size_t dim = 0; dim < sizeOf(value.dims()); ++dim) {
      uint32_t index = value.dims()->Get(dim);
      if (!expressions.has(index))
        return refuseModule(where, "dim ", dim, " names expression ", index, "; there are ",
                            expressions.size());
      if (expressions.range(index).max < 0)
        return refuseModule(where, "dim ", dim, " is always negative");
    }
  }
  return {};
}

static Status checkNeeds(const schema::Module &module, const Expressions &expressions) {
  for (size_t i = 0; i < sizeOf(module.needs()); ++i)
    if (uint32_t index = module.needs()->Get(i)->dim(); !expressions.has(index))
      return refuseModule(text("need ", i), "it names expression ", index, "; there are ",
                          expressions.size());
  return {};
}

static Status checkCache(const schema::Module &module, const Expressions &expressions) {
  if (!module.cache())
    return {};
  uint32_t step = module.cache()->step();
  if (!expressions.has(step))
    return refuseModule("cache", "it names expression ", step, "; there are ", expressions.size());
  if (expressions.range(step).max < 0)
    return refuseModule("cache", "what a run adds to it is always negative");
  if (module.cache()->capacity() < 1)
    return refuseModule("cache", "it holds ", module.cache()->capacity(),
                        " positions; expected 1 or more");
  return {};
}

/// Counted symbols are bound by others and counted by the last outputs; no input tells them.
static Status checkCounted(const schema::Module &module, const Expressions &expressions) {
  size_t count = 0, outputs = sizeOf(module.outputs());
  auto isCounted = [&](uint32_t symbol) { return module.symbols()->Get(symbol)->counted(); };
  auto dependsOnCounted = [&](uint32_t expression) {
    std::vector<uint32_t> symbols = expressions.symbolsOf(expression);
    return std::any_of(symbols.begin(), symbols.end(), isCounted);
  };
  for (size_t i = 0; i < sizeOf(module.symbols()); ++i) {
    const schema::Symbol &symbol = *module.symbols()->Get(i);
    if (!symbol.counted())
      continue;
    ++count;
    std::string where = text("symbol ", quoted(symbol.name()->string_view()));
    if (!expressions.has(symbol.most()))
      return refuseModule(where, "its most names expression ", symbol.most(), "; there are ",
                          expressions.size());
    const Interval &most = expressions.range(symbol.most());
    if (symbol.min() != 0 || most.min < 0 || most.max > symbol.max() ||
        dependsOnCounted(symbol.most()))
      return refuseModule(where, "expected a range from 0 that holds its most, ",
                          expressions.print(symbol.most()), ", got ", symbol.min(), "..",
                          symbol.max());
  }
  if (count > outputs)
    return refuseModule("outputs", "expected a count for each of ", count, " counted symbols, got ",
                        outputs);
  for (size_t i = outputs - count; i < outputs; ++i) {
    const schema::Value &value = *module.outputs()->Get(i);
    if (value.dtype() != schema::DType::i64 || sizeOf(value.dims()) != 0)
      return refuseModule(text("output ", quoted(value.name()->string_view())),
                          "expected a count, which is i64 without dims");
  }
  for (auto [kind, values] :
       {std::pair("input", module.inputs()), std::pair("state", module.states())})
    for (size_t i = 0; i < sizeOf(values); ++i)
      for (size_t dim = 0; dim < sizeOf(values->Get(i)->dims()); ++dim)
        if (dependsOnCounted(values->Get(i)->dims()->Get(dim)))
          return refuseModule(text(kind, " ", quoted(values->Get(i)->name()->string_view())),
                              "dim ", dim, " depends on a counted symbol");
  return {};
}

/// FlatBuffers checks the alignment of a vector's length, and not that of larger elements.
template <class Element> static bool isAligned(const flatbuffers::Vector<Element> *list) {
  return !list || reinterpret_cast<uintptr_t>(list->Data()) % 8 == 0;
}

static Status checkWeights(const schema::Module &module) {
  DLC_TRY(checkNames("weight", module.weights()));
  for (size_t i = 0; i < sizeOf(module.weights()); ++i) {
    const schema::Weight &weight = *module.weights()->Get(i);
    std::string where = text("weight ", quoted(weight.name()->string_view()));
    if (!isDType(static_cast<int>(weight.dtype())))
      return refuseModule(where, "unknown element type ", static_cast<int>(weight.dtype()));
    if (sizeOf(weight.dims()) > DLC_MAX_RANK)
      return refuseModule(where, "expected at most ", DLC_MAX_RANK, " dims, got ",
                          weight.dims()->size());
    if (!isAligned(weight.dims()))
      return refuseModule(where, "its dims are not aligned");
    int64_t bytes = bytesOf(weight.dtype());
    for (size_t dim = 0; dim < sizeOf(weight.dims()); ++dim) {
      uint64_t extent = weight.dims()->Get(dim);
      if (extent > INT64_MAX || !checkedMul(bytes, static_cast<int64_t>(extent), bytes))
        return refuseModule(where, "its size overflows 64 bits");
    }
    if (!weight.data())
      return refuseModule(where, "it has no segment");
    if (weight.data()->bytes() != static_cast<uint64_t>(bytes))
      return refuseModule(where, "its dims need ", bytes, " bytes, its segment has ",
                          weight.data()->bytes());
  }
  return {};
}

/// Adds the segments that the module itself names. `where`: "segment 2, " for a nested one.
static void addSegments(const schema::Module &module, const std::string &where,
                        std::vector<NamedSegment> &found) {
  for (size_t p = 0; p < sizeOf(module.programs()); ++p) {
    const schema::Program &program = *module.programs()->Get(p);
    for (size_t i = 0; i < sizeOf(program.cpu_images()); ++i)
      if (const schema::Segment *code = program.cpu_images()->Get(i)->code())
        found.push_back({code, text(where, "code of program ", p, ", image ", i)});
    for (size_t i = 0; i < sizeOf(program.cuda_sources()); ++i) {
      const schema::CudaSource &source = *program.cuda_sources()->Get(i);
      for (size_t k = 0; k < sizeOf(source.cubins()); ++k)
        if (const schema::Segment *data = source.cubins()->Get(k)->data())
          found.push_back(
              {data, text(where, "code of program ", p, ", source ", i, ", cubin ", k)});
    }
  }
  for (size_t i = 0; i < sizeOf(module.weights()); ++i)
    if (const schema::Segment *data = module.weights()->Get(i)->data())
      found.push_back(
          {data, text(where, "weight ", quoted(module.weights()->Get(i)->name()->string_view()))});
}

std::vector<NamedSegment> dlc::rt::segmentsOf(const schema::Module &module) {
  std::vector<NamedSegment> found;
  addSegments(module, "", found);
  for (size_t i = 0; i < sizeOf(module.segments()); ++i)
    addSegments(*module.segments()->Get(i), text("segment ", i, ", "), found);
  return found;
}

/// Segments are aligned, inside the file, and do not overlap; two weights may share one.
static Status checkSegments(const schema::Module &module, uint64_t begin, uint64_t fileBytes) {
  std::vector<NamedSegment> segments = segmentsOf(module);
  for (const auto &[segment, what] : segments) {
    if (segment->offset() % schema::kSegmentAlignment != 0)
      return refuseModule(what, "offset ", segment->offset(), " is no multiple of ",
                          schema::kSegmentAlignment);
    if (segment->offset() < begin || segment->offset() > fileBytes ||
        segment->bytes() > fileBytes - segment->offset())
      return refuseModule(what, "bytes ", segment->offset(), " + ", segment->bytes(),
                          " lie outside the file's segments, ", begin, " to ", fileBytes);
  }
  std::sort(segments.begin(), segments.end(), [](const NamedSegment &a, const NamedSegment &b) {
    return std::pair(a.segment->offset(), a.segment->bytes()) <
           std::pair(b.segment->offset(), b.segment->bytes());
  });
  uint64_t end = begin;
  const NamedSegment *last = nullptr;
  for (const NamedSegment &named : segments) {
    const schema::Segment &segment = *named.segment;
    bool shared = last && last->segment->offset() == segment.offset() &&
                  last->segment->bytes() == segment.bytes();
    if (!shared && segment.offset() < end) {
      assert(last && "none begins before the first place of a segment");
      return refuseModule(named.what, "it overlaps ", last->what);
    }
    if (!shared && segment.offset() - end > kMaxGap)
      return refuseModule(named.what, segment.offset() - end, " unused bytes lie before it");
    end = segment.offset() + segment.bytes();
    last = &named;
  }
  if (fileBytes - end > kMaxGap)
    return refuseModule("file", fileBytes - end, " unused bytes lie after the last segment");
  return {};
}

static Status checkCudaHeaders(const schema::Module &module) {
  DLC_TRY(checkNames("device header", module.cuda_headers()));
  for (size_t i = 0; i < sizeOf(module.cuda_headers()); ++i)
    if (module.cuda_headers()->Get(i)->text()->string_view().find('\0') != std::string_view::npos)
      return refuseModule(text("device header ", i), "its text has a NUL byte");
  return {};
}

static Status checkPrograms(const schema::Module &module, const Expressions &expressions) {
  if (sizeOf(module.programs()) == 0)
    return refuseModule("module", "it holds no program");
  for (size_t i = 0; i < module.programs()->size(); ++i) {
    DLC_TRY(verifyProgram(module, expressions, i));
    for (size_t k = 0; k < i; ++k)
      if (module.programs()->Get(k)->target() == module.programs()->Get(i)->target())
        return refuseModule(text("program ", i), "a second one for the same target");
  }
  return {};
}

/// Checks what a module has by itself, but for the ranges of its bulk bytes, its programs and its
/// flow.
static Expected<Expressions> verifyTables(const schema::Module &module) {
  DLC_TRY(checkName("producer", module.producer()));
  DLC_TRY(checkName("model", module.model()));
  if (module.precision() != schema::DType::f32 && module.precision() != schema::DType::f16 &&
      module.precision() != schema::DType::bf16)
    return refuseModule("precision", "it is none of f32, f16 and bf16");
  DLC_TRY(checkSymbols(module));
  if (!isAligned(module.expressions()))
    return refuseModule("expressions", "the table is not aligned");
  Expected<Expressions> expressions = Expressions::create(module);
  if (expressions.failed())
    return expressions.status();
  DLC_TRY(checkValues("input", *expressions, module.inputs()));
  DLC_TRY(checkValues("output", *expressions, module.outputs()));
  DLC_TRY(checkValues("state", *expressions, module.states()));
  DLC_TRY(checkNeeds(module, *expressions));
  DLC_TRY(checkCache(module, *expressions));
  DLC_TRY(checkDerived(module, *expressions));
  DLC_TRY(checkCounted(module, *expressions));
  DLC_TRY(checkWeights(module));
  return expressions;
}

Expected<VerifiedModule> dlc::rt::verifyModule(const schema::Module &module, uint64_t segmentsBegin,
                                               uint64_t fileBytes) {
  Expected<Expressions> expressions = verifyTables(module);
  if (expressions.failed())
    return expressions.status();
  VerifiedModule verified{expressions.take(), {}};
  for (size_t i = 0; i < sizeOf(module.segments()); ++i) {
    Expected<Expressions> segment = verifyTables(*module.segments()->Get(i));
    if (segment.failed())
      return segment.status().within(text("segment ", i, ": "));
    verified.segments.push_back(segment.take());
  }
  DLC_TRY(checkSegments(module, segmentsBegin, fileBytes));
  DLC_TRY(checkCudaHeaders(module));
  if (!module.flow() && sizeOf(module.segments()) == 0) {
    DLC_TRY(checkPrograms(module, verified.expressions));
    DLC_TRY(verifyStraight(module));
    return verified;
  }
  for (size_t i = 0; i < sizeOf(module.segments()); ++i) {
    const schema::Module &segment = *module.segments()->Get(i);
    DLC_TRY(checkCudaHeaders(segment).within(text("segment ", i, ": ")));
    DLC_TRY(checkPrograms(segment, verified.segments[i]).within(text("segment ", i, ": ")));
  }
  DLC_TRY(verifyFlow(module, verified));
  return verified;
}
