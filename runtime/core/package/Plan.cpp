//===- Plan.cpp - A program under bound shapes: places, sizes, launches ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/Plan.h"
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/core/bind/Arena.h"
#include "runtime/schema/KernelAbi.h"

#include <algorithm>
#include <map>

using namespace dlc;
using namespace dlc::rt;
using schema::Storage;

namespace {

template <class List> size_t sizeOf(const List *list) { return list ? list->size() : 0; }

class Planner {
public:
  Planner(const schema::Program &program, const std::vector<int64_t> &values, Phase phase,
          Interface interface, const VariantUse &variants)
      : program(program), values(values), phase(phase), interface(interface), variants(variants) {}

  Expected<Plan> run() {
    for (uint32_t i = 0; i < sizeOf(program.buffers()); ++i)
      DLC_TRY(addBuffer(i));
    findTemporaries();
    DLC_TRY(place());
    auto *commands = phase == Phase::init ? program.init() : program.main();
    for (size_t i = 0; i < sizeOf(commands); ++i)
      DLC_TRY(addCommand(*commands->Get(i), i));
    return std::move(plan);
  }

private:
  static Status tooLarge(const std::string &message) {
    return {DLC_USAGE, message + ": give the model smaller inputs"};
  }

  /// Bytes that the buffer's dims and layout need; false on overflow or a negative dim.
  bool neededBytes(const schema::Buffer &buffer, int64_t &bytes) const {
    bytes = bytesOf(buffer.dtype());
    for (size_t i = 0; i < sizeOf(buffer.dims()); ++i) {
      int64_t extent = values[buffer.dims()->Get(i)];
      if (extent < 0)
        return false;
      if (static_cast<int>(i) == buffer.tile_dim() && !checkedAlign(extent, buffer.tile(), extent))
        return false;
      if (!checkedMul(bytes, extent, bytes))
        return false;
    }
    return true;
  }

  Status addBuffer(uint32_t i) {
    const schema::Buffer &buffer = *program.buffers()->Get(i);
    PlannedBuffer planned{buffer.storage(), i, buffer.index(), values[buffer.bytes()]};
    if (buffer.storage() == Storage::view) {
      const PlannedBuffer &base = plan.buffers[buffer.index()];
      // A view whose dims depend on symbols is of the main program alone: its dims are not known
      // yet.
      if (isPlanned(base.storage) && planned.bytes > base.bytes && phase == Phase::main)
        return malformed("buffer ", i, " views ", planned.bytes, " bytes of a buffer of ",
                         base.bytes);
      planned.storage = base.storage;
      planned.root = base.root;
      planned.index = base.index;
    }
    int64_t needed;
    bool exact = planned.storage == Storage::input || planned.storage == Storage::output ||
                 planned.storage == Storage::state;
    bool isWithin = planned.root == i || planned.bytes <= plan.buffers[buffer.index()].bytes;
    bool fits = !isPlanned(planned.storage) ||
                (isWithin && neededBytes(buffer, needed) && planned.bytes >= needed &&
                 (!exact || planned.root != i || planned.bytes == needed));
    bool isLater = phase == Phase::init && planned.root != i;
    unfit.push_back(!fits && isLater);
    if (!fits && !isLater)
      return malformed("buffer ", i, ": its size, ", planned.bytes,
                       " bytes, does not fit its dims");
    plan.buffers.push_back(planned);
    return {};
  }

  /// The init program runs before shapes are known: only what does not depend on them has a size.
  bool isPlanned(Storage storage) const {
    return phase == Phase::main || storage == Storage::weight || storage == Storage::persistent;
  }

  using Commands = flatbuffers::Vector<flatbuffers::Offset<schema::CommandEntry>>;

  /// Calls `use` with each command's number and the root of each buffer that it names.
  template <class Use> void visitUses(const Commands *commands, Use use) const {
    auto visit = [&](uint32_t at, const schema::Launch *launch) {
      for (size_t i = 0; launch && i < sizeOf(launch->args()); ++i)
        if (const schema::Arg &arg = *launch->args()->Get(i); arg.kind() == schema::ArgKind::buffer)
          use(at, plan.buffers[arg.index()].root);
    };
    for (uint32_t at = 0; at < sizeOf(commands); ++at) {
      const schema::CommandEntry &entry = *commands->Get(at);
      if (const schema::Launch *launch = entry.command_as_Launch()) {
        visit(at, launch);
        for (size_t i = 0; i < sizeOf(launch->variants()); ++i)
          visit(at, launch->variants()->Get(i)->launch());
      } else {
        use(at, plan.buffers[entry.command_as_Copy()->source()].root);
        use(at, plan.buffers[entry.command_as_Copy()->target()].root);
      }
    }
  }

  void findTemporaries() {
    // Several buffers may be one weight: these stay or go together.
    std::map<uint32_t, uint32_t> firstOfWeight;
    std::vector<uint32_t> owner(plan.buffers.size());
    for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
      const PlannedBuffer &root = plan.buffers[plan.buffers[i].root];
      owner[i] = root.storage == Storage::weight
                     ? firstOfWeight.emplace(root.index, root.root).first->second
                     : root.root;
    }
    std::vector<bool> isKept(plan.buffers.size());
    visitUses(program.main(), [&](uint32_t, uint32_t root) { isKept[owner[root]] = true; });
    firstUses.assign(plan.buffers.size(), UINT32_MAX);
    visitUses(program.init(), [&](uint32_t at, uint32_t root) {
      PlannedBuffer &it = plan.buffers[owner[root]];
      firstUses[owner[root]] = std::min(firstUses[owner[root]], at);
      it.lastUse = at;
      it.isTemporary = !isKept[owner[root]];
    });
    for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
      plan.buffers[i].isTemporary = plan.buffers[owner[i]].isTemporary;
      plan.buffers[i].lastUse = plan.buffers[owner[i]].lastUse;
    }
  }

  Status place() {
    std::vector<uint32_t> placed;
    std::vector<Lifetime> requests;
    uint32_t lastCommand =
        sizeOf(program.main()) ? static_cast<uint32_t>(program.main()->size() - 1) : 0;
    for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
      PlannedBuffer &planned = plan.buffers[i];
      const schema::Buffer &buffer = *program.buffers()->Get(i);
      if (planned.root != i)
        continue;
      bool isInterface = planned.storage == Storage::input || planned.storage == Storage::output;
      if (planned.storage == Storage::persistent && planned.isTemporary) {
        if (phase == Phase::main)
          continue; // it is no more
        placed.push_back(i);
        requests.push_back({planned.bytes, firstUses[i], planned.lastUse});
      } else if (planned.storage == Storage::persistent) {
        planned.offset = plan.persistentBytes;
        if (!checkedAdd(plan.persistentBytes, planned.bytes, plan.persistentBytes) ||
            !checkedAlign(plan.persistentBytes, abi::kBufferAlignment, plan.persistentBytes))
          return malformed("the size of the persistent buffers overflows 64 bits");
      } else if (phase == Phase::main && planned.storage == Storage::state) {
        planned.offset = plan.stateBytes;
        if (!checkedAdd(plan.stateBytes, planned.bytes, plan.stateBytes) ||
            !checkedAlign(plan.stateBytes, abi::kBufferAlignment, plan.stateBytes))
          return tooLarge("the size of the states overflows 64 bits");
      } else if (phase == Phase::main && planned.storage == Storage::arena) {
        placed.push_back(i);
        requests.push_back({planned.bytes, buffer.first_use(), buffer.last_use()});
      } else if (phase == Phase::main && isInterface && interface == Interface::arena) {
        placed.push_back(i);
        requests.push_back({planned.bytes, 0, lastCommand});
      }
    }
    std::optional<Placement> placement = placeBuffers(requests, abi::kBufferAlignment);
    if (!placement && phase == Phase::init)
      return malformed("the size of the persistent buffers overflows 64 bits");
    if (!placement)
      return tooLarge("the size of the buffers overflows 64 bits");
    if (!isSound(requests, *placement, abi::kBufferAlignment))
      return {DLC_INTERNAL,
              "the placement of the buffers failed its check; please report this with the model"};
    for (size_t i = 0; i < placed.size(); ++i)
      plan.buffers[placed[i]].offset = placement->offsets[i];
    for (PlannedBuffer &planned : plan.buffers)
      planned.offset = plan.buffers[planned.root].offset;
    (phase == Phase::init ? plan.temporaryBytes : plan.arenaBytes) = placement->bytes;
    return {};
  }

  Status addCommand(const schema::CommandEntry &entry, size_t at) {
    PlannedCommand command;
    std::string name = text("command ", at, ": ");
    DLC_TRY(entry.command_type() == schema::Command::Launch
                ? addLaunch(*entry.command_as_Launch(), name, command)
                : addCopy(*entry.command_as_Copy(), name, command));
    plan.commands.push_back(std::move(command));
    return {};
  }

  /// The launch itself, or the one that takes its place.
  const schema::Launch *choose(const schema::Launch *launch) const {
    for (size_t i = 0; i < sizeOf(launch->variants()); ++i)
      if (const schema::Variant &variant = *launch->variants()->Get(i);
          variants.allows(variant) && areWithin(variant.limits(), values))
        return variant.launch();
    return launch;
  }

  Status addMap(const schema::Launch &launch, size_t i, const std::string &name,
                PlannedCommand &command) {
    const schema::TensorMap &table = *launch.maps()->Get(i);
    uint32_t buffer = launch.args()->Get(table.arg())->index();
    schema::DType dtype = program.buffers()->Get(buffer)->dtype();
    PlannedMap map{buffer,
                   dtype,
                   values[table.columns()],
                   values[table.rows()],
                   values[table.step()],
                   {table.box_columns(), table.box_rows()}};
    // The last row must end in the buffer.
    int64_t end;
    bool fits = map.columns > 0 && map.rows > 0 && map.step > 0 &&
                checkedMul(map.rows - 1, map.step, end) && checkedAdd(end, map.columns, end) &&
                checkedMul(end, bytesOf(dtype), end) && end <= plan.buffers[buffer].bytes;
    if (!fits && !command.skip)
      return malformed(name, "tensor map ", i, " leaves its buffer");
    command.maps.push_back(map);
    return {};
  }

  Status addLaunch(const schema::Launch &common, const std::string &name, PlannedCommand &command) {
    if (inChain > 0) {
      --inChain;
      command.launch = &common;
      command.skip = command.isInChain = true;
      return {};
    }
    const schema::Chain *chain = variants.chainOf(common);
    const schema::Launch *chosen = choose(&common);
    if (const schema::Launch *whole = chain ? chain->launch() : nullptr) {
      inChain = chain->launches() - 1;
      chosen = whole;
    }
    const schema::Launch &launch = *chosen;
    command.launch = &launch;
    for (size_t i = 0; i < sizeOf(launch.args()); ++i) {
      const schema::Arg &arg = *launch.args()->Get(i);
      bool isBuffer = arg.kind() == schema::ArgKind::buffer;
      command.args.push_back({isBuffer, isBuffer ? int64_t(arg.index()) : values[arg.index()]});
      if (isBuffer && unfit[arg.index()])
        return malformed(name, "buffer ", arg.index(), ": its size does not fit its dims");
      if (isBuffer && plan.buffers[arg.index()].storage == Storage::exchange)
        plan.exchangeBytes = std::max(plan.exchangeBytes, plan.buffers[arg.index()].bytes);
    }
    bool isCuda = program.target() == schema::Target::cuda;
    for (uint32_t i = 0; i < launch.grid()->size(); ++i) {
      command.grid[i] = values[launch.grid()->Get(i)];
      int64_t limit = !isCuda ? INT64_MAX : i == 0 ? INT32_MAX : 65535;
      if (command.grid[i] < 0)
        return malformed(name, "its grid has ", command.grid[i], " blocks on axis ", i);
      if (command.grid[i] > limit)
        return tooLarge(text(name, "its grid has ", command.grid[i], " blocks on axis ", i,
                             "; a GPU takes at most ", limit));
      command.skip |= command.grid[i] == 0;
    }
    int64_t tiles = 0;
    if (!isCuda && __builtin_mul_overflow(command.grid[0], command.grid[1], &tiles))
      return malformed(name, "it has ", command.grid[1], " phases of ", command.grid[0], " tiles");
    for (size_t i = 0; i < sizeOf(launch.maps()); ++i)
      DLC_TRY(addMap(launch, i, name, command));
    command.scratchBytes = values[launch.scratch_bytes()];
    // CPU threads have their scratch side by side.
    int64_t step = isCuda ? 1 : abi::kBufferAlignment;
    if (command.scratchBytes < 0 || !checkedAlign(command.scratchBytes, step, command.scratchBytes))
      return malformed(name, "it asks for ", command.scratchBytes, " bytes of scratch");
    plan.scratchBytes = std::max(plan.scratchBytes, command.scratchBytes);
    const schema::Kernel &kernel = *program.kernels()->Get(launch.kernel());
    command.flops = values[kernel.flops()];
    command.bytes = values[kernel.bytes()];
    return launch.product() ? addProduct(*launch.product(), name, command) : Status();
  }

  Status addProduct(const schema::Product &table, const std::string &name,
                    PlannedCommand &command) {
    auto buffer = [&](uint32_t position) { return uint32_t(command.args[position].value); };
    auto value = [&](uint32_t expression) { return values[expression]; };
    PlannedProduct product{
        program.buffers()->Get(buffer(table.a()))->dtype(),
        table.tf32(),
        value(table.rows()),
        value(table.columns()),
        value(table.depth()),
        value(table.batch()),
        {buffer(table.a()), value(table.a_row()), value(table.a_depth()), value(table.a_batch())},
        {buffer(table.b()), value(table.b_depth()), value(table.b_column()),
         value(table.b_batch())},
        {buffer(table.target()), value(table.target_row()), 1, value(table.target_batch())},
        {}};
    for (size_t i = 0; i < sizeOf(table.calls()); ++i)
      if (const schema::ProductCall &call = *table.calls()->Get(i);
          areWithin(call.limits(), values))
        product.gpus.push_back(call.gpu());
    if (!fits(product, product.a, product.rows, product.depth) ||
        !fits(product, product.b, product.depth, product.columns) ||
        !fits(product, product.target, product.rows, product.columns))
      return malformed(name, "a matrix of its product leaves its buffer");
    command.product = product;
    return {};
  }

  /// Every element of the matrices lies in the buffer.
  bool fits(const PlannedProduct &product, const PlannedMatrix &matrix, int64_t rows,
            int64_t columns) const {
    if (rows < 0 || columns < 0 || product.batch < 0)
      return false;
    if (rows == 0 || columns == 0 || product.batch == 0)
      return true;
    int64_t end = 1;
    const std::pair<int64_t, int64_t> ways[] = {
        {rows, matrix.row}, {columns, matrix.column}, {product.batch, matrix.batch}};
    for (auto [extent, step] : ways) {
      int64_t way;
      if (step < 0 || !checkedMul(extent - 1, step, way) || !checkedAdd(end, way, end))
        return false;
    }
    return checkedMul(end, bytesOf(product.dtype), end) && end <= plan.buffers[matrix.buffer].bytes;
  }

  Status addCopy(const schema::Copy &copy, const std::string &name, PlannedCommand &command) {
    command.source = copy.source();
    command.target = copy.target();
    int64_t bytes = plan.buffers[copy.source()].bytes;
    if (bytes != plan.buffers[copy.target()].bytes)
      return malformed(name, "it copies ", bytes, " bytes to a buffer of ",
                       plan.buffers[copy.target()].bytes);
    command.bytes = 2 * bytes;
    command.skip = bytes == 0;
    return {};
  }

  const schema::Program &program;
  const std::vector<int64_t> &values;
  Phase phase;
  Interface interface;
  VariantUse variants;
  Plan plan;
  uint32_t inChain = 0;            ///< launches that are still to come of the last chain
  std::vector<bool> unfit;         ///< by buffer: views that no init command may name
  std::vector<uint32_t> firstUses; ///< by buffer: the first init command that uses a temporary
};

} // namespace

Expected<Plan> dlc::rt::planProgram(const schema::Program &program,
                                    const std::vector<int64_t> &values, Phase phase,
                                    Interface interface, const VariantUse &variants) {
  return Planner(program, values, phase, interface, variants).run();
}

bool VariantUse::allows(const schema::Launch &launch, uint32_t ofGpu) const {
  return (ofGpu == 0 || int64_t(ofGpu) == gpu) && (!usable || (*usable)[launch.kernel()]);
}

const schema::Chain *VariantUse::chainOf(const schema::Launch &launch) const {
  for (size_t i = 0; chains && i < sizeOf(launch.chains()); ++i)
    if (const schema::Chain *chain = launch.chains()->Get(i); allows(*chain))
      return chain;
  return nullptr;
}

bool dlc::rt::areWithin(const flatbuffers::Vector<const schema::Limits *> *limits,
                        const std::vector<int64_t> &values) {
  for (size_t i = 0; i < sizeOf(limits); ++i) {
    const schema::Limits &limit = *limits->Get(i);
    if (values[limit.of()] < limit.least() || values[limit.of()] > limit.most())
      return false;
  }
  return true;
}

std::string dlc::rt::describeKernel(const schema::Kernel &kernel) {
  std::string out = text("kernel ", quoted(kernel.name()->string_view()));
  if (sizeOf(kernel.lines()))
    out += text(" (", kernel.lines()->Get(0)->string_view(), ")");
  return out;
}

std::string dlc::rt::describeBuffer(const Module &module, const schema::Program &program,
                                    const std::vector<int64_t> &values, uint32_t index) {
  const schema::Buffer &buffer = *program.buffers()->Get(index);
  std::string out = text("buffer ", index, " (");
  switch (buffer.storage()) {
  case Storage::input:
    out +=
        text("input ", quoted(module.table().inputs()->Get(buffer.index())->name()->string_view()));
    break;
  case Storage::output:
    out += text("output ",
                quoted(module.table().outputs()->Get(buffer.index())->name()->string_view()));
    break;
  case Storage::state:
    out +=
        text("state ", quoted(module.table().states()->Get(buffer.index())->name()->string_view()));
    break;
  case Storage::weight:
    out += text("weight ",
                quoted(module.table().weights()->Get(buffer.index())->name()->string_view()));
    break;
  default:
    out += schema::EnumNameStorage(buffer.storage());
  }
  out += text(", ", nameOf(buffer.dtype()), "[");
  for (size_t i = 0; i < sizeOf(buffer.dims()); ++i)
    out += text(i ? "," : "", values[buffer.dims()->Get(i)]);
  return out + text("], ", values[buffer.bytes()], " bytes)");
}
