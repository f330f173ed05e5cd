//===- FlowVerifierTest.cpp - Each fault of a flow is found and named -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/Runner.h"
#include "test/unit/runtime/flow/FlowPackage.h"

#include <cstring>

using namespace dlc::test;
using namespace dlc::schema;

namespace {

struct Fault {
  const char *name;
  void (*plant)(FlowPackage &);
  const char *message; ///< after "malformed module (compile the model again): "
};

StepUnion &stepOf(FlowPackage &p, size_t block, size_t step) {
  return p.flow().blocks[block]->steps[step]->step;
}
CallStepT &callOf(FlowPackage &p, size_t block, size_t step) {
  return *stepOf(p, block, step).AsCallStep();
}
IfStepT &ifOf(FlowPackage &p) { return *stepOf(p, 0, 0).AsIfStep(); }
LoopStepT &forOf(FlowPackage &p) { return *stepOf(p, 1, 0).AsLoopStep(); }
LoopStepT &whileOf(FlowPackage &p) { return *stepOf(p, 2, 1).AsLoopStep(); }
SlotT &slotOf(FlowPackage &p, size_t slot) { return *p.flow().slots[slot]; }
ModuleT &segmentOf(FlowPackage &p, size_t segment) { return p.segments[segment].module; }

// The package: slots 0 x, 1 trips, 2 doubles (inputs), 3 before, 4 after, 5 doubled, 6 all, 7
// shorter, 8 longer, 9 grown, 10 starts, 11 goesOn, 12 y, 13 filled. Numbers 0 N, 1 m (read), 2.
// Blocks 0: if, size, read, call; 1: loop over 3; 2: call, loop over 4; 3: call; 4: call, call.
// Segments 0 twice, 1 append, 2 isShort, 3 fill.
const Fault kFaults[] = {
    {"NoFlow", [](FlowPackage &p) { p.module.flow = nullptr; },
     "module: expected a flow and segments that it calls; it has one of them"},
    {"NoSegments", [](FlowPackage &p) { p.segments.clear(); },
     "module: expected a flow and segments that it calls; it has one of them"},
    {"ProgramsToo", [](FlowPackage &p) { p.program(Target::cpu); },
     "module: beside a flow it has programs, weights or given symbols"},
    {"WeightsToo", [](FlowPackage &p) { p.weight("w", {1}, {1}); },
     "module: beside a flow it has programs, weights or given symbols"},
    {"GivenToo", [](FlowPackage &p) { p.module.given = {0}; },
     "module: beside a flow it has programs, weights or given symbols"},
    {"NoProgram", [](FlowPackage &p) { segmentOf(p, 1).programs.clear(); },
     "module: it holds no program"},
    {"OtherTargets", [](FlowPackage &p) { segmentOf(p, 1).programs.pop_back(); },
     "segment: expected programs for the targets of segment 0"},
    {"OtherOrder",
     [](FlowPackage &p) { std::swap(segmentOf(p, 1).programs[0], segmentOf(p, 1).programs[1]); },
     "segment: expected programs for the targets of segment 0"},
    {"FlowInSegment", [](FlowPackage &p) { segmentOf(p, 0).flow = std::make_unique<FlowT>(); },
     "segment: expected no segments, flow, states or cache inside a segment"},
    {"SegmentInSegment",
     [](FlowPackage &p) {
       segmentOf(p, 0).segments.push_back(std::make_unique<ModuleT>(segmentOf(p, 1)));
     },
     "segment: expected no segments, flow, states or cache inside a segment"},
    {"StateInSegment",
     [](FlowPackage &p) {
       segmentOf(p, 0).states.push_back(std::make_unique<ValueT>(*segmentOf(p, 0).inputs[0]));
     },
     "segment: expected no segments, flow, states or cache inside a segment"},
    {"CacheInSegment",
     [](FlowPackage &p) {
       segmentOf(p, 0).cache = std::make_unique<CacheT>();
       segmentOf(p, 0).cache->capacity = 1;
     },
     "segment: expected no segments, flow, states or cache inside a segment"},
    {"ReadInSegment", [](FlowPackage &p) { segmentOf(p, 0).symbols[0]->read = true; },
     "symbol 'N': it is read by a flow, and the module has none"},
    {"GivenMissing", [](FlowPackage &p) { segmentOf(p, 3).given = {5}; },
     "given: it names symbol 5; there are 1"},
    {"GivenTwice", [](FlowPackage &p) { segmentOf(p, 3).given = {0, 0}; },
     "given: symbol 'n' is counted, derived, or given twice"},
    {"BadSegment", [](FlowPackage &p) { segmentOf(p, 2).inputs[0]->name = ""; },
     "input 0: expected a name of 1 to 16777216 bytes"},
    {"BadSegmentHeader",
     [](FlowPackage &p) {
       auto header = std::make_unique<CudaHeaderT>();
       segmentOf(p, 2).cuda_headers.push_back(std::move(header));
     },
     "device header 0: expected a name of 1 to 16777216 bytes"},
    {"CountedSymbol",
     [](FlowPackage &p) {
       p.module.symbols[1]->counted = true;
       p.module.symbols[1]->most = p.constant(64).row;
       p.output("count", DType::i64, {});
     },
     "symbol 'm': in a module with a flow it may be read or derived, and not counted"},
    {"ReadAndDerived",
     [](FlowPackage &p) {
       p.readSymbol("few", 0, 9);
       p.module.expressions.pop_back(); // its row
       p.module.symbols.back()->is_derived = true;
     },
     "symbol 'few': in a module with a flow it may be read or derived, and not counted"},
    {"InputOfRead", [](FlowPackage &p) { p.module.inputs[0]->dims = p.module.outputs[0]->dims; },
     "input 'x': dim 0 depends on a symbol that is read"},
    {"StateOfRead",
     [](FlowPackage &p) {
       p.module.states.push_back(std::make_unique<ValueT>(*p.module.outputs[0]));
     },
     "state 'y': dim 0 depends on a symbol that is read"},
    {"CacheOfRead",
     [](FlowPackage &p) {
       p.module.cache = std::make_unique<CacheT>();
       p.module.cache->capacity = 1;
       p.module.cache->step = p.module.outputs[0]->dims[0];
     },
     "cache: its step depends on a symbol that is read"},

    {"FewSlots", [](FlowPackage &p) { p.flow().slots.resize(2); },
     "flow: expected a slot for each of 3 inputs and 0 states and at most 1000000, got 2"},
    {"SlotType", [](FlowPackage &p) { slotOf(p, 5).dtype = static_cast<DType>(77); },
     "slot 5: unknown element type 77"},
    {"SlotRank", [](FlowPackage &p) { slotOf(p, 5).dims.assign(9, 1); },
     "slot 5: expected at most 8 dims, got 9"},
    {"SlotDim", [](FlowPackage &p) { slotOf(p, 5).dims = {-2}; },
     "slot 5: dim 0 is -2; expected -1 or a size"},
    {"InputType", [](FlowPackage &p) { slotOf(p, 0).dtype = DType::f16; },
     "slot 0: expected f32 of 1 dims in slot 0, got f16 of 1"},
    {"InputDim", [](FlowPackage &p) { slotOf(p, 0).dims = {4}; },
     "slot 0: dim 0 of 'x' is not always 4, as slot 0 has it"},
    {"StateSlot",
     [](FlowPackage &p) {
       p.module.states.push_back(std::make_unique<ValueT>(*p.module.inputs[0]));
       slotOf(p, 3).dtype = DType::i8;
     },
     "slot 3: expected f32 of 1 dims in slot 3, got i8 of 1"},
    {"FewNumbers", [](FlowPackage &p) { p.flow().numbers = 1; },
     "flow: expected numbers for 2 symbols and at most 1000000, got 1"},
    {"ManyNumbers", [](FlowPackage &p) { p.flow().numbers = 2000000; },
     "flow: expected numbers for 2 symbols and at most 1000000, got 2000000"},
    {"NoBlock", [](FlowPackage &p) { p.flow().blocks.clear(); }, "flow: it has no block"},
    {"UnnamedBlock", [](FlowPackage &p) { p.block(); }, "block 5: no step names it"},
    {"MissingBlock", [](FlowPackage &p) { ifOf(p).then_block = 9; },
     "block 0, step 0: it names block 9; expected a later one that no other step names"},
    {"BlockTwice", [](FlowPackage &p) { ifOf(p).else_block = 1; },
     "block 0, step 0: it names block 1; expected a later one that no other step names"},
    {"BlockOfItself", [](FlowPackage &p) { whileOf(p).body = 2; },
     "block 2, step 1: it names block 2; expected a later one that no other step names"},
    {"EarlierBlock", [](FlowPackage &p) { whileOf(p).body = 0; },
     "block 2, step 1: it names block 0; expected a later one that no other step names"},
    {"DeepBlocks",
     [](FlowPackage &p) {
       uint32_t at = 4;
       for (int i = 0; i < 260; ++i) {
         uint32_t next = p.block();
         p.loop(at, next);
         at = next;
       }
     },
     "block 259: blocks are nested deeper than 256"},

    {"CallMissing", [](FlowPackage &p) { callOf(p, 3, 0).segment = 7; },
     "block 3, step 0: it calls segment 7; there are 4"},
    {"CallInputs", [](FlowPackage &p) { callOf(p, 3, 0).inputs = {}; },
     "block 3, step 0: expected 1 inputs, got 0"},
    {"CallNumbers", [](FlowPackage &p) { callOf(p, 0, 3).numbers = {2, 2}; },
     "block 0, step 3: expected 1 numbers, got 2"},
    {"CallOutputs", [](FlowPackage &p) { callOf(p, 3, 0).outputs = {}; },
     "block 3, step 0: expected 1 outputs, got 0"},
    {"CallInputSlot", [](FlowPackage &p) { callOf(p, 3, 0).inputs = {99}; },
     "block 3, step 0: it names slot 99; there are 14"},
    {"CallOutputSlot", [](FlowPackage &p) { callOf(p, 3, 0).outputs = {99}; },
     "block 3, step 0: it names slot 99; there are 14"},
    {"CallUnwritten", [](FlowPackage &p) { callOf(p, 3, 0).inputs = {13}; },
     "block 3, step 0: it reads slot 13, which is not written before"},
    {"CallOutOfScope",
     [](FlowPackage &p) {
       callOf(p, 0, 3).segment = 0;
       callOf(p, 0, 3).numbers = {};
       callOf(p, 0, 3).inputs = {8};
     },
     "block 0, step 3: it reads slot 8, which is not written before"},
    {"CallWritesTwice", [](FlowPackage &p) { callOf(p, 0, 3).outputs = {12}; },
     "block 0, step 3: it writes slot 12 a second time"},
    {"CallWritesInput", [](FlowPackage &p) { callOf(p, 0, 3).outputs = {0}; },
     "block 0, step 3: it writes slot 0 a second time"},
    {"CallInputType", [](FlowPackage &p) { callOf(p, 3, 0).inputs = {1}; },
     "block 3, step 0: expected f32 of 1 dims in slot 1, got i64 of 0"},
    {"CallInputDim",
     [](FlowPackage &p) {
       segmentOf(p, 3).symbols[0]->min = segmentOf(p, 3).symbols[0]->max = 3;
       segmentOf(p, 2).symbols[0]->min = segmentOf(p, 2).symbols[0]->max = 4;
       slotOf(p, 13).dims = {3};
       uint32_t flag = p.slot(DType::boolean, {});
       p.call(0, 2, {13}, {flag});
     },
     "block 0, step 4: dim 0 of slot 13 is 3; 'x' has 4"},
    {"CallOutputDim", [](FlowPackage &p) { slotOf(p, 13).dims = {3}; },
     "block 0, step 3: dim 0 of 'y' is not always 3, as slot 13 has it"},
    {"NumberMissing", [](FlowPackage &p) { callOf(p, 0, 3).numbers = {3}; },
     "block 0, step 3: it names number 3; there are 3"},
    {"NumberUnset",
     [](FlowPackage &p) { std::swap(p.flow().blocks[0]->steps[2], p.flow().blocks[0]->steps[3]); },
     "block 0, step 2: it reads number 2, which is not written before"},
    {"SymbolUnset",
     [](FlowPackage &p) {
       callOf(p, 0, 3).numbers = {1};
       p.flow().blocks[0]->steps.erase(p.flow().blocks[0]->steps.begin() + 1);
     },
     "block 0, step 2: it reads number 1, which is not written before"},
    {"DerivedSymbolUnset",
     [](FlowPackage &p) {
       uint32_t definition = p.module.outputs[0]->dims[0];
       p.symbol("more", 0, 64);
       p.module.symbols.back()->is_derived = true;
       p.module.symbols.back()->derived = definition;
       stepOf(p, 0, 2).AsReadStep()->number = 3;
       p.flow().numbers = 4;
       callOf(p, 0, 3).numbers = {2};
     },
     "block 0, step 3: it reads number 2, which is not written before"},

    {"ReadMissing", [](FlowPackage &p) { stepOf(p, 0, 2).AsReadStep()->slot = 99; },
     "block 0, step 2: it names slot 99; there are 14"},
    {"ReadFloat", [](FlowPackage &p) { stepOf(p, 0, 2).AsReadStep()->slot = 0; },
     "block 0, step 2: it reads slot 0; expected one element of an integer or bool"},
    {"ReadSeveral",
     [](FlowPackage &p) {
       slotOf(p, 1).dims = {2};
       p.module.inputs[1]->dims = {p.constant(2).row};
       forOf(p).trips = -1;
     },
     "block 0, step 2: it reads slot 1; expected one element of an integer or bool"},
    {"ReadText", [](FlowPackage &p) { stepOf(p, 0, 2).AsReadStep()->what = "\x1b"; },
     "block 0, step 2: the text that says what it reads is no clean text"},
    {"ReadIntoOther", [](FlowPackage &p) { stepOf(p, 0, 2).AsReadStep()->number = 0; },
     "block 0, step 2: it sets number 0, a symbol that is not read"},
    {"ReadTwice", [](FlowPackage &p) { stepOf(p, 0, 2).AsReadStep()->number = 1; },
     "block 0, step 2: it writes number 1 a second time"},
    {"ReadIntoMissing", [](FlowPackage &p) { stepOf(p, 0, 2).AsReadStep()->number = 9; },
     "block 0, step 2: it names number 9; there are 3"},
    {"SizeMissing", [](FlowPackage &p) { stepOf(p, 0, 1).AsSizeStep()->slot = 13; },
     "block 0, step 1: it reads slot 13, which is not written before"},
    {"SizeOfNoDim", [](FlowPackage &p) { stepOf(p, 0, 1).AsSizeStep()->dim = 1; },
     "block 0, step 1: it reads dim 1 of slot 12, which has 1"},
    {"SizeIntoOther", [](FlowPackage &p) { stepOf(p, 0, 1).AsSizeStep()->number = 0; },
     "block 0, step 1: it sets number 0, a symbol that is not read"},

    {"IfOfInteger", [](FlowPackage &p) { ifOf(p).condition = 1; },
     "block 0, step 0: its condition is slot 1; expected one bool"},
    {"IfOfMissing", [](FlowPackage &p) { ifOf(p).condition = 70; },
     "block 0, step 0: it names slot 70; there are 14"},
    {"IfThenValues", [](FlowPackage &p) { ifOf(p).then_values = {}; },
     "block 0, step 0: expected 1 values of each block, got 0"},
    {"IfElseValues", [](FlowPackage &p) { ifOf(p).else_values = {9, 9}; },
     "block 0, step 0: expected 1 values of each block, got 2"},
    {"IfValueOfOtherBlock", [](FlowPackage &p) { ifOf(p).else_values = {5}; },
     "block 0, step 0: it reads slot 5, which is not written before"},
    {"IfResultType", [](FlowPackage &p) { slotOf(p, 12).dtype = DType::f64; },
     "block 0, step 0: expected f32 of 1 dims in slot 12, got f64 of 1"},
    {"IfResultDim", [](FlowPackage &p) { slotOf(p, 12).dims = {4}; },
     "block 0, step 0: dim 0 of slot 5 is not always 4, as slot 12 has it"},
    {"IfResultMissing", [](FlowPackage &p) { ifOf(p).results = {50}; },
     "block 0, step 0: it names slot 50; there are 14"},

    {"LoopArguments", [](FlowPackage &p) { forOf(p).arguments = {}; },
     "block 1, step 0: expected 1 arguments, got 0"},
    {"LoopNext", [](FlowPackage &p) { forOf(p).next = {}; },
     "block 1, step 0: expected 1 next values, got 0"},
    {"LoopResults", [](FlowPackage &p) { forOf(p).results = {}; },
     "block 1, step 0: expected 1 results, got 0"},
    {"LoopStacks", [](FlowPackage &p) { forOf(p).stacks = {}; },
     "block 1, step 0: expected 1 stacks, got 0"},
    {"LoopTrips", [](FlowPackage &p) { forOf(p).trips = -2; },
     "block 1, step 0: it names slot -2; expected -1 or a slot"},
    {"LoopTripsType", [](FlowPackage &p) { forOf(p).trips = 2; },
     "block 1, step 0: its number of steps is slot 2; expected one i64"},
    {"LoopTripsMissing", [](FlowPackage &p) { forOf(p).trips = 99; },
     "block 1, step 0: it names slot 99; there are 14"},
    {"LoopCondition", [](FlowPackage &p) { forOf(p).condition = 1; },
     "block 1, step 0: its condition is slot 1; expected one bool"},
    {"LoopInitial", [](FlowPackage &p) { forOf(p).initial = {12}; },
     "block 1, step 0: it reads slot 12, which is not written before"},
    {"LoopArgumentType", [](FlowPackage &p) { slotOf(p, 3).dtype = DType::f16; },
     "block 1, step 0: expected f32 of 1 dims in slot 3, got f16 of 1"},
    {"LoopArgumentDim", [](FlowPackage &p) { slotOf(p, 3).dims = {4}; },
     "block 1, step 0: dim 0 of slot 0 is not always 4, as slot 3 has it"},
    {"LoopArgumentMissing", [](FlowPackage &p) { forOf(p).arguments = {88}; },
     "block 1, step 0: it names slot 88; there are 14"},
    {"LoopStepType", [](FlowPackage &p) { forOf(p).step = int32_t(p.slot(DType::i32, {})); },
     "block 1, step 0: it counts its steps in slot 14; expected an i64 without dims"},
    {"LoopStepWritten", [](FlowPackage &p) { forOf(p).step = 1; },
     "block 1, step 0: it writes slot 1 a second time"},
    {"LoopNextType", [](FlowPackage &p) { whileOf(p).next = {11}; },
     "block 2, step 1: expected bool of 0 dims in slot 7, got f32 of 1"},
    {"LoopNextUnwritten", [](FlowPackage &p) { whileOf(p).next = {9}; },
     "block 2, step 1: it reads slot 9, which is not written before"},
    {"LoopResultDim", [](FlowPackage &p) { slotOf(p, 9).dims = {4}; },
     "block 2, step 1: dim 0 of slot 8 is not always 4, as slot 9 has it"},
    {"LoopResultMissing", [](FlowPackage &p) { whileOf(p).results = {77}; },
     "block 2, step 1: it names slot 77; there are 14"},
    {"LoopNextCondition", [](FlowPackage &p) { whileOf(p).next_condition = 8; },
     "block 2, step 1: its condition is slot 8; expected one bool"},
    {"LoopGathersUnwritten", [](FlowPackage &p) { forOf(p).gathered = {12}; },
     "block 1, step 0: it reads slot 12, which is not written before"},
    {"LoopStackRank", [](FlowPackage &p) { slotOf(p, 6).dims = {-1}; },
     "block 1, step 0: expected f32 of 2 dims in slot 6, got f32 of 1"},
    {"LoopStackLength", [](FlowPackage &p) { slotOf(p, 6).dims = {4, -1}; },
     "block 1, step 0: dim 0 of slot 6 is not always 4"},
    {"LoopStackDim", [](FlowPackage &p) { slotOf(p, 6).dims = {-1, 4}; },
     "block 1, step 0: dim 1 of slot 6 is not always 4"},
    {"LoopEmptyDims", [](FlowPackage &p) { forOf(p).empty_dims = {0, 0}; },
     "block 1, step 0: expected 1 dims of what it gathers, got 2"},
    {"LoopEmptyDim", [](FlowPackage &p) { forOf(p).empty_dims = {500}; },
     "block 1, step 0: expression 500 is not a size"},
    {"LoopStackMissing", [](FlowPackage &p) { forOf(p).stacks = {60}; },
     "block 1, step 0: it names slot 60; there are 14"},

    {"OutputCount", [](FlowPackage &p) { p.flow().outputs.pop_back(); },
     "flow, outputs: expected 2 slots, got 1"},
    {"OutputUnwritten", [](FlowPackage &p) { p.flow().outputs = {12, 8}; },
     "flow, outputs: it reads slot 8, which is not written before"},
    {"OutputType", [](FlowPackage &p) { p.flow().outputs = {12, 1}; },
     "flow, outputs: expected f32 of 1 dims in slot 1, got i64 of 0"},
    {"OutputDim",
     [](FlowPackage &p) {
       segmentOf(p, 3).symbols[0]->min = segmentOf(p, 3).symbols[0]->max = 3;
       slotOf(p, 13).dims = {3};
       p.module.outputs[1]->dims = {p.constant(4).row};
     },
     "flow, outputs: dim 0 of slot 13 is 3; 'filled' has 4"},
    {"StateCount", [](FlowPackage &p) { p.flow().next_states = {0}; },
     "flow, states: expected 0 slots, got 1"},
};

class FlowVerifierTest : public testing::TestWithParam<Fault> {};

} // namespace

TEST_P(FlowVerifierTest, IsRefusedByName) {
  FlowPackage package = sampleFlow();
  GetParam().plant(package);
  load(package.file(), DLC_INCOMPATIBLE);
  std::string error = dlc_last_error();
  if (error.starts_with("segment "))
    error = error.substr(error.find(": ") + 2);
  EXPECT_EQ(error,
            std::string("malformed module (compile the model again): ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Faults, FlowVerifierTest, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(FlowVerifier, NamesTheSegment) {
  FlowPackage package = sampleFlow();
  segmentOf(package, 2).programs.clear();
  load(package.file(), DLC_INCOMPATIBLE);
  EXPECT_STREQ(dlc_last_error(),
               "segment 2: malformed module (compile the model again): module: it "
               "holds no program");
}

TEST(FlowVerifier, StraightModulesHaveNoSymbolsOfFlows) {
  PackageBuilder read = affinePackage(), given = affinePackage();
  read.module.symbols[0]->read = true;
  load(read.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("symbol 'N': it is read by a flow, and the module has none"));
  given.module.given = {0};
  load(given.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("given: only a segment of a module with a flow has given symbols"));
}

namespace {

/// sampleFlow()'s file, of which bytes are changed.
struct Bytes {
  std::vector<uint8_t> file = sampleFlow().file();

  const Module *table() const { return GetModule(file.data() + kTableOffset); }
  template <class Table> uint8_t *field(const Table *table, flatbuffers::voffset_t which) {
    auto *at = reinterpret_cast<const flatbuffers::Table *>(table)->GetAddressOf(which);
    return const_cast<uint8_t *>(at);
  }
  void malformed(const std::string &message) {
    rehash(file);
    load(file, DLC_INCOMPATIBLE);
    EXPECT_EQ(dlc_last_error(), "malformed module (compile the model again): " + message);
  }
};

} // namespace

TEST(FlowVerifier, UnknownSteps) {
  Bytes bytes;
  const StepEntry *entry = bytes.table()->flow()->blocks()->Get(4)->steps()->Get(1);
  *bytes.field(entry, StepEntry::VT_STEP_TYPE) = 9;
  bytes.malformed("block 4, step 1: unknown step 9; a newer dlc may have written it");
}

TEST(FlowVerifier, DimsOfSlotsAreAligned) {
  FlowPackage package = sampleFlow();
  uint32_t last = package.slot(DType::f32, {1});
  Bytes bytes{package.file()};
  uint8_t *field = bytes.field(bytes.table()->flow()->slots()->Get(last), Slot::VT_DIMS);
  uint32_t offset;
  std::memcpy(&offset, field, 4);
  offset += 4; // a list of the length 1, whose elements of 8 bytes lie askew
  std::memcpy(field, &offset, 4);
  bytes.malformed("slot 14: its dims are not aligned");
}

TEST(FlowVerifier, DamagedSegmentsOfSegments) {
  Bytes bytes;
  bytes.file.back() ^= 1;
  load(bytes.file, DLC_INCOMPATIBLE);
  EXPECT_STREQ(dlc_last_error(), "segment 3, code of program 0, image 0 is damaged (its hash does "
                                 "not match): copy the file again");
}
