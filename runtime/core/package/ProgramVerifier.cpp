//===- ProgramVerifier.cpp - One program of a module: buffers, kernels, commands -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"
#include "runtime/core/package/ModuleVerifier.h"
#include "runtime/schema/KernelAbi.h"

#include <algorithm>
#include <optional>
#include <string_view>

using namespace dlc;
using namespace dlc::rt;
using schema::Storage;

namespace {

template <class List> size_t sizeOf(const List *list) { return list ? list->size() : 0; }

/// The limits of every CUDA device since Ampere.
constexpr uint32_t kMaxBlockThreads = 1024;
constexpr uint32_t kMaxBlock[] = {1024, 1024, 64};
/// More than any device has; the device's own limit is checked when the program is prepared.
constexpr int64_t kMaxSharedBytes = 1 << 20;
constexpr int64_t kMaxScratchBytes = int64_t(1) << 32;
/// The alignment of copies to shared memory: the columns that blocks keep.
constexpr uint32_t kColumnBytes = 16;

class ProgramVerifier {
public:
  ProgramVerifier(const schema::Module &module, const Expressions &expressions, size_t index)
      : module(module), program(*module.programs()->Get(index)), expressions(expressions),
        isCuda(program.target() == schema::Target::cuda), name(text("program ", index)) {}

  Status run() {
    if (program.target() > schema::Target::cuda)
      return refuseModule(name, "unknown target ", static_cast<int>(program.target()));
    name += isCuda ? " (cuda)" : " (cpu)";
    DLC_TRY(checkBuffers());
    DLC_TRY(isCuda ? checkSources() : checkImages());
    for (size_t i = 0; i < sizeOf(program.kernels()); ++i)
      DLC_TRY(checkKernel(*program.kernels()->Get(i), text(name, ", kernel ", i)));
    for (size_t i = 0; i < sizeOf(program.init()); ++i)
      DLC_TRY(checkCommand(*program.init()->Get(i), text(name, ", init command ", i), i, true));
    for (size_t i = 0; i < sizeOf(program.main()); ++i)
      DLC_TRY(checkCommand(*program.main()->Get(i), text(name, ", command ", i), i, false));
    return {};
  }

private:
  Status checkExpression(const std::string &where, const char *what, uint32_t index) const {
    if (!expressions.has(index))
      return refuseModule(where, what, " names expression ", index, "; there are ",
                          expressions.size());
    if (expressions.range(index).max < 0)
      return refuseModule(where, what, " is always negative");
    return {};
  }

  Status checkBuffers() {
    seenInputs.resize(sizeOf(module.inputs()));
    seenOutputs.resize(sizeOf(module.outputs()));
    seenStates.resize(sizeOf(module.states()));
    for (uint32_t i = 0; i < sizeOf(program.buffers()); ++i) {
      const schema::Buffer &buffer = *program.buffers()->Get(i);
      std::string where = text(name, ", buffer ", i);
      DLC_TRY(checkShape(buffer, where));
      DLC_TRY(checkStorage(buffer, where, i));
      bool isClean = !buffer.line() || isCleanUtf8(buffer.line()->string_view());
      for (size_t at = 0; at < sizeOf(buffer.layers()); ++at)
        isClean &= isCleanUtf8(buffer.layers()->Get(at)->string_view());
      if (!isClean)
        return refuseModule(where, "its source line or a layer is no clean text");
      roots.push_back(buffer.storage() == Storage::view ? roots[buffer.index()] : i);
    }
    for (size_t i = 0; i < seenOutputs.size(); ++i)
      if (!seenOutputs[i])
        return refuseModule(name, "no buffer is output ",
                            quoted(module.outputs()->Get(i)->name()->string_view()));
    return {};
  }

  Status checkShape(const schema::Buffer &buffer, const std::string &where) const {
    if (!isDType(static_cast<int>(buffer.dtype())))
      return refuseModule(where, "unknown element type ", static_cast<int>(buffer.dtype()));
    size_t rank = sizeOf(buffer.dims());
    if (rank > DLC_MAX_RANK)
      return refuseModule(where, "expected at most ", DLC_MAX_RANK, " dims, got ", rank);
    for (uint32_t dim = 0; dim < rank; ++dim)
      DLC_TRY(checkExpression(where, "a dim", buffer.dims()->Get(dim)));
    DLC_TRY(checkExpression(where, "its size", buffer.bytes()));
    bool seen[DLC_MAX_RANK] = {};
    if (sizeOf(buffer.order()) != 0 && buffer.order()->size() != rank)
      return refuseModule(where, "expected an order of ", rank, " dims, got ",
                          buffer.order()->size());
    for (size_t i = 0; i < sizeOf(buffer.order()); ++i) {
      uint8_t dim = buffer.order()->Get(i);
      if (dim >= rank || std::exchange(seen[dim], true))
        return refuseModule(where, "its order is no permutation of its dims");
    }
    if (buffer.tile_dim() < -1 || buffer.tile_dim() >= static_cast<int>(rank))
      return refuseModule(where, "it tiles dim ", buffer.tile_dim(), " of ", rank);
    if (buffer.tile() == 0 || buffer.tile() > 65536)
      return refuseModule(where, "expected tiles of 1 to 65536 elements, got ", buffer.tile());
    return {};
  }

  static bool isRowMajor(const schema::Buffer &buffer) {
    for (size_t i = 0; i < sizeOf(buffer.order()); ++i)
      if (buffer.order()->Get(i) != i)
        return false;
    return buffer.tile_dim() < 0;
  }

  Status checkStorage(const schema::Buffer &buffer, const std::string &where, size_t self) {
    switch (buffer.storage()) {
    case Storage::input:
      return checkInterface(buffer, where, "input", module.inputs(), seenInputs);
    case Storage::output:
      return checkInterface(buffer, where, "output", module.outputs(), seenOutputs);
    case Storage::state:
      return checkInterface(buffer, where, "state", module.states(), seenStates);
    case Storage::weight:
      return checkWeight(buffer, where);
    case Storage::persistent:
      if (!expressions.constant(buffer.bytes()))
        return refuseModule(where, "a persistent buffer needs a constant size");
      return {};
    case Storage::arena:
      // A buffer that nothing uses has lifetime 0..0, also where there is no command.
      if (buffer.first_use() > buffer.last_use() ||
          buffer.last_use() >= std::max<size_t>(1, sizeOf(program.main())))
        return refuseModule(where, "lifetime ", buffer.first_use(), "..", buffer.last_use(),
                            " lies outside the ", sizeOf(program.main()), " commands");
      return {};
    case Storage::exchange:
      if (!isCuda)
        return refuseModule(where, "memory for blocks of a GPU is in a program for the CPU");
      if (expressions.range(buffer.bytes()).min < abi::kExchangeCounterBytes)
        return refuseModule(where, "memory that blocks exchange has at least ",
                            abi::kExchangeCounterBytes, " bytes");
      return {};
    case Storage::view:
      if (buffer.index() >= self)
        return refuseModule(where, "a view of buffer ", buffer.index(),
                            "; expected an earlier one");
      return {};
    }
    return refuseModule(where, "unknown storage ", static_cast<int>(buffer.storage()));
  }

  Status checkInterface(const schema::Buffer &buffer, const std::string &where, const char *kind,
                        const flatbuffers::Vector<flatbuffers::Offset<schema::Value>> *values,
                        std::vector<bool> &seen) const {
    if (buffer.index() >= sizeOf(values))
      return refuseModule(where, "it names ", kind, " ", buffer.index(), "; there are ",
                          sizeOf(values));
    const schema::Value &value = *values->Get(buffer.index());
    bool same = value.dtype() == buffer.dtype() && sizeOf(value.dims()) == sizeOf(buffer.dims());
    for (size_t i = 0; same && i < sizeOf(value.dims()); ++i)
      same = expressions.same(value.dims()->Get(i), buffer.dims()->Get(i));
    if (!same || !isRowMajor(buffer))
      return refuseModule(where, "its type or layout differs from that of ", kind, " ",
                          quoted(value.name()->string_view()));
    if (seen[buffer.index()])
      return refuseModule(where, "a second buffer for ", kind, " ",
                          quoted(value.name()->string_view()));
    seen[buffer.index()] = true;
    return {};
  }

  Status checkWeight(const schema::Buffer &buffer, const std::string &where) const {
    if (buffer.index() >= sizeOf(module.weights()))
      return refuseModule(where, "it names weight ", buffer.index(), "; there are ",
                          sizeOf(module.weights()));
    const schema::Weight &weight = *module.weights()->Get(buffer.index());
    bool same = weight.dtype() == buffer.dtype() && sizeOf(weight.dims()) == sizeOf(buffer.dims());
    for (size_t i = 0; same && i < sizeOf(weight.dims()); ++i)
      same = expressions.constant(buffer.dims()->Get(i)) ==
             static_cast<int64_t>(weight.dims()->Get(i));
    if (!same || !isRowMajor(buffer))
      return refuseModule(where, "its type or layout differs from that of weight ",
                          quoted(weight.name()->string_view()));
    if (expressions.constant(buffer.bytes()) != static_cast<int64_t>(weight.data()->bytes()))
      return refuseModule(where, "its size differs from that of its weight");
    return {};
  }

  Status checkImages() const {
    if (sizeOf(program.cpu_images()) == 0 && sizeOf(program.kernels()) != 0)
      return refuseModule(name, "it has kernels and no code image");
    for (size_t i = 0; i < sizeOf(program.cpu_images()); ++i) {
      const schema::CpuImage &image = *program.cpu_images()->Get(i);
      std::string where = text(name, ", image ", i);
      if (!image.code())
        return refuseModule(where, "it has no code");
      if (!isCleanUtf8(image.isa()->string_view()))
        return refuseModule(where, "its instruction set's name is no clean text");
      for (size_t k = 0; k < sizeOf(image.imports()); ++k) {
        const schema::Import &import = *image.imports()->Get(k);
        std::string_view wanted = import.name()->string_view();
        if (std::find(std::begin(abi::kCpuImports), std::end(abi::kCpuImports), wanted) ==
            std::end(abi::kCpuImports))
          return refuseModule(where, "it imports ", quoted(wanted),
                              "; only memcpy and memset are given");
        if (import.slot() % 8 != 0 || image.code()->bytes() < 8 ||
            import.slot() > image.code()->bytes() - 8)
          return refuseModule(where, "the slot of its import ", quoted(wanted), " lies outside it");
      }
    }
    return {};
  }

  Status checkSources() const {
    for (size_t i = 0; i < sizeOf(program.cuda_sources()); ++i) {
      const schema::CudaSource &source = *program.cuda_sources()->Get(i);
      std::string where = text(name, ", source ", i);
      if (source.text()->string_view().find('\0') != std::string_view::npos)
        return refuseModule(where, "its text has a NUL byte");
      for (size_t k = 0; k < sizeOf(source.headers()); ++k)
        if (source.headers()->Get(k) >= sizeOf(module.cuda_headers()))
          return refuseModule(where, "it names header ", source.headers()->Get(k), "; there are ",
                              sizeOf(module.cuda_headers()));
      for (size_t k = 0; k < sizeOf(source.cubins()); ++k)
        DLC_TRY(checkCubin(*source.cubins()->Get(k), text(where, ", cubin ", k)));
    }
    return {};
  }

  static Status checkCubin(const schema::Cubin &cubin, const std::string &where) {
    if (!cubin.data() || cubin.data()->bytes() == 0)
      return refuseModule(where, "it has no code");
    if (cubin.arch() < 10 || cubin.arch() > 999 || cubin.variant() > schema::CubinVariant::specific)
      return refuseModule(where, "it is for an unknown architecture");
    if (cubin.producer() && !isCleanUtf8(cubin.producer()->string_view()))
      return refuseModule(where, "its producer is no clean text");
    return {};
  }

  Status checkKernel(const schema::Kernel &kernel, const std::string &where) const {
    if (kernel.name()->size() == 0 || !isCleanUtf8(kernel.name()->string_view()) ||
        !isCleanUtf8(kernel.kind()->string_view()))
      return refuseModule(where, "its name or kind is empty or no clean text");
    for (const auto *list : {kernel.lines(), kernel.layers(), kernel.ops()})
      for (size_t i = 0; i < sizeOf(list); ++i)
        if (!isCleanUtf8(list->Get(i)->string_view()))
          return refuseModule(where, "a source line, layer or op is no clean text");
    DLC_TRY(checkExpression(where, "its number of operations", kernel.flops()));
    DLC_TRY(checkExpression(where, "its number of bytes", kernel.bytes()));
    return isCuda ? checkCudaKernel(kernel, where) : checkCpuKernel(kernel, where);
  }

  Status checkCpuKernel(const schema::Kernel &kernel, const std::string &where) const {
    if (sizeOf(kernel.cpu()) != sizeOf(program.cpu_images()))
      return refuseModule(where, "expected one entry for each of ", sizeOf(program.cpu_images()),
                          " images, got ", sizeOf(kernel.cpu()));
    for (uint32_t i = 0; i < sizeOf(kernel.cpu()); ++i) {
      const schema::CpuEntry &entry = *kernel.cpu()->Get(i);
      if (entry.image() != i || entry.entry() >= program.cpu_images()->Get(i)->code()->bytes())
        return refuseModule(where, "its entry ", i, " lies outside image ", i);
    }
    return {};
  }

  Status checkCudaKernel(const schema::Kernel &kernel, const std::string &where) const {
    if (kernel.cuda_source() >= sizeOf(program.cuda_sources()))
      return refuseModule(where, "it names source ", kernel.cuda_source(), "; there are ",
                          sizeOf(program.cuda_sources()));
    size_t axes = sizeOf(kernel.block());
    if (axes < 1 || axes > 3)
      return refuseModule(where, "expected a block of 1 to 3 axes, got ", axes);
    uint64_t threads = 1;
    for (uint32_t i = 0; i < axes; ++i) {
      uint32_t extent = kernel.block()->Get(i);
      if (extent < 1 || extent > kMaxBlock[i])
        return refuseModule(where, "block axis ", i, " has ", extent, " threads; expected 1 to ",
                            kMaxBlock[i]);
      threads *= extent;
    }
    if (threads > kMaxBlockThreads)
      return refuseModule(where, "a block of ", threads, " threads; expected at most ",
                          kMaxBlockThreads);
    if (kernel.static_shared_bytes() > kMaxSharedBytes)
      return refuseModule(where, kernel.static_shared_bytes(),
                          " bytes of shared memory; expected at most ", kMaxSharedBytes);
    return {};
  }

  Status checkCommand(const schema::CommandEntry &entry, const std::string &where, size_t at,
                      bool init) const {
    switch (entry.command_type()) {
    case schema::Command::Launch:
      return checkLaunch(*entry.command_as_Launch(), where, at, init);
    case schema::Command::Copy:
      return checkCopy(*entry.command_as_Copy(), where, at, init);
    case schema::Command::NONE:
      break;
    }
    return refuseModule(where, "unknown command ", static_cast<int>(entry.command_type()),
                        "; a newer dlc may have written it");
  }

  Status checkMaps(const schema::Launch &launch, const std::string &where, bool init) const {
    for (size_t i = 0; i < sizeOf(launch.maps()); ++i) {
      const schema::TensorMap &map = *launch.maps()->Get(i);
      const schema::Arg *arg =
          isCuda && map.arg() < sizeOf(launch.args()) ? launch.args()->Get(map.arg()) : nullptr;
      bool isBuffer = arg && arg->kind() == schema::ArgKind::buffer;
      schema::DType dtype =
          isBuffer ? program.buffers()->Get(arg->index())->dtype() : schema::DType::boolean;
      bool hasExtents = !init && expressions.has(map.columns()) && expressions.has(map.rows()) &&
                        expressions.has(map.step());
      constexpr schema::DType kMapped[] = {schema::DType::f16, schema::DType::bf16,
                                           schema::DType::f32, schema::DType::i8,
                                           schema::DType::u8,  schema::DType::f8e4m3fn};
      if (!hasExtents || std::ranges::find(kMapped, dtype) == std::end(kMapped) ||
          map.box_columns() != 128 / bytesOf(dtype) || map.box_rows() < 1 || map.box_rows() > 256)
        return refuseModule(
            where, "tensor map ", i,
            " describes no buffer of f16, bf16, f32, i8, u8 or f8e4m3fn in boxes of 128 bytes by 1 "
            "to 256 rows");
    }
    return {};
  }

  Status checkLaunch(const schema::Launch &launch, const std::string &where, size_t at,
                     bool init) const {
    if (launch.kernel() >= sizeOf(program.kernels()))
      return refuseModule(where, "it names kernel ", launch.kernel(), "; there are ",
                          sizeOf(program.kernels()));
    for (size_t i = 0; i < sizeOf(launch.args()); ++i) {
      const schema::Arg &arg = *launch.args()->Get(i);
      std::string what = text("argument ", i);
      if (arg.kind() == schema::ArgKind::buffer)
        DLC_TRY(checkUse(arg.index(), where, what.c_str(), at, init));
      else if (arg.kind() == schema::ArgKind::dim)
        DLC_TRY(checkNumber(arg.index(), where, what.c_str(), init, false));
      else
        return refuseModule(where, what, " is of unknown kind ", static_cast<int>(arg.kind()));
    }
    DLC_TRY(checkMaps(launch, where, init));
    for (size_t i = 0; i < sizeOf(launch.edges()); ++i) {
      const schema::Edge &edge = *launch.edges()->Get(i);
      if (edge.input() >= sizeOf(launch.args()) || edge.writer() >= sizeOf(program.kernels()))
        return refuseModule(where, "edge ", i, " names argument ", edge.input(), " and kernel ",
                            edge.writer(), "; there are ", sizeOf(launch.args()), " and ",
                            sizeOf(program.kernels()));
    }
    for (size_t i = 0; i < sizeOf(launch.variants()); ++i)
      DLC_TRY(checkVariant(*launch.variants()->Get(i), text(where, ", variant ", i), at, init));
    for (size_t i = 0; i < sizeOf(launch.chains()); ++i)
      DLC_TRY(checkChain(*launch.chains()->Get(i), text(where, ", chain ", i), at, init));
    DLC_TRY(checkGrid(launch, where, init));
    DLC_TRY(checkKept(launch, where));
    return launch.product() ? checkProduct(*launch.product(), launch, where) : Status();
  }

  Status checkGrid(const schema::Launch &launch, const std::string &where, bool init) const {
    size_t axes = sizeOf(launch.grid());
    if (axes < 1 || axes > (isCuda ? 3 : 2))
      return refuseModule(where, "expected a grid of 1 ", isCuda ? "to 3" : "or 2", " axes, got ",
                          axes);
    for (uint32_t i = 0; i < axes; ++i)
      DLC_TRY(checkNumber(launch.grid()->Get(i), where, "its grid", init, true));
    DLC_TRY(checkNumber(launch.scratch_bytes(), where, "its scratch", init, true));
    const Interval &scratch = expressions.range(launch.scratch_bytes());
    if (isCuda ? !scratch.isConstant() || scratch.max > kMaxSharedBytes
               : scratch.min > kMaxScratchBytes)
      return refuseModule(where, isCuda ? "dynamic shared memory must be constant and at most 1 MiB"
                                        : "more than 4 GiB of scratch for a thread");
    return {};
  }

  Status checkVariant(const schema::Variant &variant, const std::string &where, size_t at,
                      bool init) const {
    if (init || sizeOf(variant.launch()->variants()) + sizeOf(variant.launch()->chains()) > 0)
      return refuseModule(where,
                          "only launches of a run have variants, which have none themselves");
    if (variant.gpu() != 0 && !isCuda)
      return refuseModule(where, "it is for a GPU, and the program is not");
    DLC_TRY(checkLimits(variant.limits(), where));
    return checkLaunch(*variant.launch(), where, at, init);
  }

  /// Each argument of the launches in a chain's place is checked where these are, and those of the
  /// chain are the same.
  Status checkChain(const schema::Chain &chain, const std::string &where, size_t at,
                    bool init) const {
    const schema::Launch &launch = *chain.launch();
    if (init || !isCuda || sizeOf(launch.variants()) + sizeOf(launch.chains()) > 0 ||
        launch.product() || launch.maps() || launch.kept() || launch.persistent())
      return refuseModule(where, "only launches of a run on GPUs have chains, which are plain");
    if (chain.launches() < 2 || chain.launches() > sizeOf(program.main()) - at)
      return refuseModule(where, "it takes the place of ", chain.launches(),
                          " launches; there are ", sizeOf(program.main()) - at);
    auto isSame = [](const schema::Arg &a, const schema::Arg &b) {
      return a.kind() == b.kind() && a.index() == b.index();
    };
    uint32_t next = 0;
    for (uint32_t i = 0; i < chain.launches(); ++i) {
      const schema::Launch *stage =
          program.main()->Get(static_cast<uint32_t>(at) + i)->command_as_Launch();
      for (uint32_t k = 0; stage && k < sizeOf(stage->args()); ++k, ++next)
        if (next >= sizeOf(launch.args()) ||
            !isSame(*launch.args()->Get(next), *stage->args()->Get(k)))
          return refuseModule(where, "argument ", next, " is not that of the launch in its place");
      if (!stage)
        return refuseModule(where, "command ", at + i, ", in its place, is no launch");
    }
    if (next != sizeOf(launch.args()))
      return refuseModule(where, "it has ", sizeOf(launch.args()), " arguments; the launches have ",
                          next);
    if (launch.kernel() >= sizeOf(program.kernels()))
      return refuseModule(where, "it names kernel ", launch.kernel(), "; there are ",
                          sizeOf(program.kernels()));
    if (program.kernels()->Get(launch.kernel())->cooperative())
      return refuseModule(where, "its kernel is cooperative, and no chain is");
    DLC_TRY(checkGrid(launch, where, init));
    for (uint32_t axis = 0; axis < launch.grid()->size(); ++axis)
      if (expressions.constant(launch.grid()->Get(axis)).value_or(0) < 1)
        return refuseModule(where, "a chain has as many blocks, one or more, under all shapes");
    return {};
  }

  Status checkLimits(const flatbuffers::Vector<const schema::Limits *> *limits,
                     const std::string &where) const {
    for (size_t i = 0; i < sizeOf(limits); ++i) {
      const schema::Limits &limit = *limits->Get(i);
      if (!expressions.has(limit.of()) || limit.least() > limit.most())
        return refuseModule(where, "limit ", i, " names no expression, or no value is within it");
    }
    return {};
  }

  Status checkKept(const schema::Launch &launch, const std::string &where) const {
    if (!launch.kept())
      return {};
    if (!isCuda || !launch.persistent() || !expressions.constant(launch.grid()->Get(0)))
      return refuseModule(where, "only a persistent launch on GPUs, of as many blocks under all "
                                 "shapes, keeps columns in shared memory");
    for (size_t i = 0; i < launch.kept()->size(); ++i) {
      const schema::KeptColumns &columns = *launch.kept()->Get(i);
      if (columns.count() == 0 || columns.bytes() == 0 || columns.bytes() % kColumnBytes != 0)
        return refuseModule(where, "it keeps ", columns.count(), " columns of ", columns.bytes(),
                            " bytes; expected at least one, of a multiple of ", kColumnBytes,
                            " bytes");
    }
    return {};
  }

  Status checkProduct(const schema::Product &product, const schema::Launch &launch,
                      const std::string &where) const {
    if (!isCuda)
      return refuseModule(where, "a matrix product for a library is in a program for the CPU");
    for (size_t i = 0; i < sizeOf(product.calls()); ++i)
      DLC_TRY(checkLimits(product.calls()->Get(i)->limits(), where));
    std::optional<schema::DType> dtype;
    for (uint32_t position : {product.a(), product.b(), product.target()}) {
      if (position >= sizeOf(launch.args()) ||
          launch.args()->Get(position)->kind() != schema::ArgKind::buffer)
        return refuseModule(where, "its product names argument ", position,
                            ", which is no buffer of the launch");
      schema::DType type = program.buffers()->Get(launch.args()->Get(position)->index())->dtype();
      if ((type != schema::DType::f32 && type != schema::DType::f16 &&
           type != schema::DType::bf16) ||
          dtype.value_or(type) != type)
        return refuseModule(where, "its product is of ", nameOf(type),
                            "; expected one type, f32, f16 or bf16");
      dtype = type;
    }
    if (product.tf32() && *dtype != schema::DType::f32)
      return refuseModule(where, "its product of ", nameOf(*dtype), " may be rounded to tf32");
    for (uint32_t index :
         {product.rows(), product.columns(), product.depth(), product.batch(), product.a_row(),
          product.a_depth(), product.a_batch(), product.b_depth(), product.b_column(),
          product.b_batch(), product.target_row(), product.target_batch()})
      DLC_TRY(checkExpression(where, "its product", index));
    return {};
  }

  Status checkCopy(const schema::Copy &copy, const std::string &where, size_t at, bool init) const {
    DLC_TRY(checkUse(copy.source(), where, "its source", at, init));
    DLC_TRY(checkUse(copy.target(), where, "its target", at, init));
    Storage target = root(copy.target()).storage();
    if (target == Storage::input || target == Storage::weight ||
        (target == Storage::persistent && !init))
      return refuseModule(where, "it writes to a buffer that is only read");
    return {};
  }

  Status checkNumber(uint32_t index, const std::string &where, const char *what, bool init,
                     bool size) const {
    if (size)
      DLC_TRY(checkExpression(where, what, index));
    else if (!expressions.has(index))
      return refuseModule(where, what, " names expression ", index, "; there are ",
                          expressions.size());
    if (init && !expressions.constant(index))
      return refuseModule(
          where, what,
          " depends on the inputs' shapes; the init program runs before they are known");
    return {};
  }

  /// The buffer whose bytes `index` names: views are followed (each to an earlier buffer).
  const schema::Buffer &root(uint32_t index) const { return *program.buffers()->Get(roots[index]); }

  /// A buffer may be used by this command: it exists, and lives at that time.
  Status checkUse(uint32_t index, const std::string &where, const char *what, size_t at,
                  bool init) const {
    if (index >= sizeOf(program.buffers()))
      return refuseModule(where, what, " names buffer ", index, "; there are ",
                          sizeOf(program.buffers()));
    const schema::Buffer &buffer = root(index);
    if (init && buffer.storage() != Storage::weight && buffer.storage() != Storage::persistent)
      return refuseModule(where, what,
                          ": the init program may use weights and persistent buffers only");
    if (buffer.storage() == Storage::arena && (at < buffer.first_use() || at > buffer.last_use()))
      return refuseModule(where, what, " uses buffer ", index, " outside its lifetime ",
                          buffer.first_use(), "..", buffer.last_use());
    return {};
  }

  const schema::Module &module;
  const schema::Program &program;
  const Expressions &expressions;
  bool isCuda;
  std::string name;
  std::vector<uint32_t> roots;
  std::vector<bool> seenInputs, seenOutputs, seenStates;
};

} // namespace

Status dlc::rt::verifyProgram(const schema::Module &module, const Expressions &expressions,
                              size_t index) {
  return ProgramVerifier(module, expressions, index).run();
}
