//===- RecurrentKernelTest.cpp - Blocks that share the units of a recurrence --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked, on GPUs that hold all columns, some of them, or none: the same bits
// on all of them.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
class RecurrentKernelTest : public CudaKernelTest {
protected:
  RecurrentKernelTest() { schedule = "recurrent_units"; }

  /// Three steps of `op`, whose states have `units`, over up to `rows` rows.
  void loadSteps(const std::string &op, int gates, int states, int units, const std::string &type,
                 int64_t rows) {
    std::string h = std::to_string(units), g = std::to_string(gates * units);
    std::string in = "tensor<3x?x" + g + "x" + type + ", #dl.t<[3, s0, " + g + "]>>",
                w = "tensor<" + std::to_string(gates) + "x" + h + "x" + h + "x" + type + ">",
                y = "tensor<3x?x" + h + "x" + type + ", #dl.t<[3, s0, " + h + "]>>",
                last = "tensor<?x" + h + "x" + type + ", #dl.t<[s0, " + h + "]>>";
    std::string names = "%y", types = y;
    for (int state = 0; state < states; ++state) {
      names += ", %s" + std::to_string(state);
      types += ", " + last;
    }
    load("recurrent",
         "^bb0(%gates: " + in + ", %weight: " + w + "):\n" + names + " = dl." + op +
             " %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (" + in +
             ", " + w + ") -> (" + types + ")\ndl.yield " + names + " : " + types,
         rows);
    const char *product = schedule == "recurrent_tensor" ? "dlc::multiply_states<config"
                                                         : "dlc::multiply_columns<config";
    EXPECT_NE(text().find(product), std::string::npos) << text();
  }

  /// The same of two at once, the second one backwards; y of that comes first.
  void loadDirections(const std::string &op, int gates, int states, int units,
                      const std::string &type, int64_t rows) {
    std::string h = std::to_string(units), g = std::to_string(gates * units);
    std::string in = "tensor<3x?x" + g + "x" + type + ", #dl.t<[3, s0, " + g + "]>>",
                w = "tensor<" + std::to_string(gates) + "x" + h + "x" + h + "x" + type + ">",
                y = "tensor<3x?x" + h + "x" + type + ", #dl.t<[3, s0, " + h + "]>>",
                last = "tensor<?x" + h + "x" + type + ", #dl.t<[s0, " + h + "]>>";
    std::string types = y,
                body = "^bb0(%ga: " + in + ", %wa: " + w + ", %gb: " + in + ", %wb: " + w + "):\n",
                given[2];
    for (int state = 0; state < states; ++state)
      types += ", " + last;
    for (int i = 0; i < 2; ++i) {
      std::string letter = i ? "b" : "a";
      given[i] = "%y" + letter;
      for (int state = 0; state < states; ++state)
        given[i] += ", %s" + letter + std::to_string(state);
      body += given[i] + " = dl." + op + " %g" + letter + ", %w" + letter +
              " {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, reverse = " +
              (i ? "true" : "false") + "} : (" + in + ", " + w + ") -> (" + types + ")\n";
    }
    load("recurrent",
         body + "dl.yield " + given[1] + ", " + given[0] + " : " + types + ", " + types, rows);
    EXPECT_EQ(config("cells"), 2);
  }

  /// Three steps of `layers` layers in waves, with biases of the products, which all give their
  /// last states; y of the highest one comes first, and that of the lowest last.
  void loadLayers(const std::string &op, int gates, int states, int units, const std::string &type,
                  int64_t rows, int layers = 2) {
    std::string h = std::to_string(units), g = std::to_string(gates * units);
    std::string in = "tensor<3x?x" + g + "x" + type + ", #dl.t<[3, s0, " + g + "]>>",
                w = "tensor<" + std::to_string(gates) + "x" + h + "x" + h + "x" + type + ">",
                v = "tensor<" + g + "x" + h + "x" + type + ">",
                b = "tensor<" + g + "x" + type + ">",
                y = "tensor<3x?x" + h + "x" + type + ", #dl.t<[3, s0, " + h + "]>>",
                last = "tensor<?x" + h + "x" + type + ", #dl.t<[s0, " + h + "]>>", lasts, types;
    for (int state = 0; state < states; ++state)
      lasts += ", " + last;
    std::string arguments = "%g0: " + in, body, given;
    for (int layer = 0; layer < layers; ++layer) {
      std::string n = std::to_string(layer), names;
      if (layer > 0) {
        arguments += ", %v" + n + ": " + v + ", %b" + n + ": " + b;
        body += "%g" + n + " = dl.linear %y" + std::to_string(layer - 1) + ", %v" + n + ", %b" + n +
                " : (" + y + ", " + v + ", " + b + ") -> " + in + "\n";
      }
      arguments += ", %w" + n + ": " + w;
      for (int state = 0; state < states; ++state)
        names += ", %s" + n + std::to_string(state);
      body += "%y" + n + names + " = dl." + op + " %g" + n + ", %w" + n +
              " {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (" + in + ", " + w +
              ") -> (" + y + lasts + ")\n";
      given += names;
      types += lasts;
    }
    load("recurrent",
         "^bb0(" + arguments + "):\n" + body + "dl.yield %y" + std::to_string(layers - 1) + given +
             ", %y0 : " + y + types + ", " + y,
         rows);
    const char *product = schedule == "recurrent_tensor" ? "dlc::multiply_stacked_states<config"
                                                         : "dlc::multiply_stacked_columns<config";
    EXPECT_NE(text().find(product), std::string::npos) << text();
  }

  /// y where each block has room for `columns` columns.
  std::vector<double> with(int64_t columns, int64_t rows) {
    sharedLimit = config("staged_bytes") + columns * config("column_bytes");
    engine.seed(7);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_EQ(run({rows, 1}, Fill::uniform, inputs, actual), Result::Success) << report();
    return {actual.floats().begin(), actual.floats().end()};
  }
};
} // namespace

constexpr Tolerance kSums{0, 1e-4};
constexpr Tolerance kHalf{8.0, 2e-2};

// Lines of eight elements a lane, and a block with fewer units than the others.
TEST_P(RecurrentKernelTest, SameBitsWhateverIsResident) {
  loadSteps("lstm_steps", 4, 2, 272, "f16", 3);
  EXPECT_EQ(config("width"), 8);
  check({3, 1}, kHalf);
  std::vector<double> all = with(91, 3);
  EXPECT_EQ(with(5, 3), all);
  EXPECT_EQ(with(0, 3), all);
  multiprocessors = 7;
  EXPECT_EQ(with(39, 3), all);
}

// Rows beyond a buffer, and beyond what a warp takes at once.
TEST_P(RecurrentKernelTest, Rows) {
  loadSteps("gru_steps", 3, 1, 140, "f32", 60);
  EXPECT_EQ(config("rows"), 16);
  EXPECT_EQ(config("buffers"), 2);
  for (int64_t rows : {0, 1, 5, 17, 33})
    check({rows, 1}, kSums);
  EXPECT_EQ(with(47, 17), with(2, 17));
}

// Lines without an even length are read and copied an element at a time.
TEST_P(RecurrentKernelTest, OddLengths) {
  for (const char *type : {"f16", "f32"}) {
    loadSteps("lstm_steps", 4, 2, 141, type, 2);
    EXPECT_EQ(config("width"), 1);
    check({2, 1}, kHalf);
    EXPECT_EQ(with(47, 2), with(1, 2));
  }
}

// Two directions in one launch. Three blocks: that in the middle has units of both.
TEST_P(RecurrentKernelTest, Directions) {
  loadDirections("gru_steps", 3, 1, 140, "f32", 9);
  for (int64_t rows : {1, 9})
    check({rows, 1}, kSums);
  EXPECT_EQ(with(94, 5), with(3, 5));
}

// Layers in waves: the same, whatever is resident; a block with fewer units than the others.
TEST_P(RecurrentKernelTest, Layers) {
  loadLayers("gru_steps", 3, 1, 68, "f32", 60);
  EXPECT_EQ(config("column_bytes"), 3 * 3 * 68 * 4);
  for (int64_t rows : {0, 1, 17})
    check({rows, 1}, kSums);
  EXPECT_EQ(with(23, 17), with(2, 17));
}

// More layers than steps come to an end before the highest one begins.
TEST_P(RecurrentKernelTest, ManyLayers) {
  loadLayers("lstm_steps", 4, 2, 77, "f16", 3, 5);
  EXPECT_EQ(config("width"), 1);
  check({3, 1}, kHalf);
  EXPECT_EQ(with(26, 2), with(1, 2));
}

// A planted fault: more shared memory than the architecture has is refused, and nothing runs.
TEST_P(RecurrentKernelTest, MoreThanTheArchitectureHasIsRefused) {
  loadSteps("lstm_steps", 4, 2, 512, "f16", 1);
  llvm::SmallVector<Tensor> inputs;
  Tensor actual;
  sharedLimit = 300 << 10;
  EXPECT_EQ(run({1, 1}, Fill::uniform, inputs, actual), Result::InvalidValue);
  sharedLimit = 227 << 10;
  inputs.clear();
  EXPECT_EQ(run({1, 1}, Fill::uniform, inputs, actual), Result::Success) << report();
}

/// The same on tensor cores.
class TensorRecurrentTest : public RecurrentKernelTest {
protected:
  TensorRecurrentTest() { schedule = "recurrent_tensor"; }
};

TEST_P(TensorRecurrentTest, SameBitsWhateverIsResident) {
  loadSteps("lstm_steps", 4, 2, 272, "f16", 3);
  EXPECT_EQ(config("width"), 8);
  EXPECT_EQ(config("row_tiles"), 1);
  check({3, 1}, kHalf);
  std::vector<double> all = with(91, 3);
  EXPECT_EQ(with(5, 3), all);
  EXPECT_EQ(with(0, 3), all);
  multiprocessors = 7;
  EXPECT_EQ(with(39, 3), all);
}

// Rows at both sides of a tile and of a pass, of a number of units that fills no tile of lines.
TEST_P(TensorRecurrentTest, Rows) {
  loadSteps("gru_steps", 3, 1, 140, "bf16", 60);
  EXPECT_EQ(config("row_tiles"), 4);
  EXPECT_EQ(config("width"), 4);
  for (int64_t rows : {0, 1, 8, 9, 31, 33})
    check({rows, 1}, kHalf);
  EXPECT_EQ(with(47, 17), with(2, 17));
}

TEST_P(TensorRecurrentTest, OddLengths) {
  for (const char *type : {"f16", "bf16"}) {
    loadSteps("lstm_steps", 4, 2, 77, type, 9);
    EXPECT_EQ(config("width"), 1);
    check({9, 1}, kHalf);
    EXPECT_EQ(with(47, 9), with(1, 9));
  }
}

// More units than a pass has columns, of one gate.
TEST_P(TensorRecurrentTest, OneGate) {
  loadSteps("rnn_tanh_steps", 1, 1, 250, "f16", 16);
  EXPECT_EQ(config("row_tiles"), 2);
  for (int64_t rows : {1, 16})
    check({rows, 1}, kHalf);
}

// Blocks of which some have units for two groups of rows, and groups without a row.
TEST_P(TensorRecurrentTest, GroupsOfRows) {
  loadSteps("gru_steps", 3, 1, 140, "f16", 4000);
  EXPECT_EQ(config("row_groups"), 2);
  multiprocessors = 7;
  for (int64_t rows : {1, 25})
    check({rows, 1}, kHalf);
  EXPECT_EQ(with(40, 9), with(0, 9));
}

TEST_P(TensorRecurrentTest, Directions) {
  loadDirections("lstm_steps", 4, 2, 77, "f16", 17);
  for (int64_t rows : {1, 17})
    check({rows, 1}, kHalf);
  EXPECT_EQ(with(52, 9), with(3, 9));
}

TEST_P(TensorRecurrentTest, Layers) {
  loadLayers("gru_steps", 3, 1, 140, "f16", 60);
  for (int64_t rows : {0, 1, 9, 33})
    check({rows, 1}, kHalf);
  EXPECT_EQ(with(47, 17), with(2, 17));
}

TEST_P(TensorRecurrentTest, ManyLayers) {
  loadLayers("lstm_steps", 4, 2, 77, "f16", 17, 5);
  EXPECT_EQ(config("width"), 1);
  for (int64_t rows : {1, 17})
    check({rows, 1}, kHalf);
  EXPECT_EQ(with(26, 9), with(1, 9));
}

// Blocks of which some have units of two of four groups of rows, and groups without a row.
TEST_P(TensorRecurrentTest, LayersInGroupsOfRows) {
  loadLayers("gru_steps", 3, 1, 140, "f16", 4000);
  EXPECT_EQ(config("row_groups"), 4);
  multiprocessors = 7;
  for (int64_t rows : {1, 25})
    check({rows, 1}, kHalf);
  EXPECT_EQ(with(40, 9), with(0, 9));
}

// Fewer chunks of k than a team has warps.
TEST_P(TensorRecurrentTest, LayersOfFewUnits) {
  loadLayers("rnn_tanh_steps", 1, 1, 40, "f16", 9);
  for (int64_t rows : {1, 9})
    check({rows, 1}, kHalf);
}

/// The product with one line of it taken out.
class PlantedRecurrentTest : public RecurrentKernelTest {
protected:
  void plant(const std::string &line, const std::string &phrase) {
    loadSteps("gru_steps", 3, 1, 140, "f32", 60);
    check({33, 1}, kSums);
    removeFromHeader("dlc_recurrent.cuh", line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({33, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
};

TEST_P(PlantedRecurrentTest, StatesAreReadBeforeTheyHaveCome) {
  plant("        barrier(); // all have what they copied\n", "missing wait");
}
TEST_P(PlantedRecurrentTest, ABufferIsFilledWhileItIsRead) {
  plant("      barrier(); // all are done with the buffer that is filled next\n", "race");
}

/// The product on tensor cores with one line of it taken out.
class PlantedTensorTest : public TensorRecurrentTest {
protected:
  void expectFault(const std::string &phrase) {
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({33, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// Runs the kernel without its first barrier, which stands between two users of its sums.
  void expectRaceWithoutBarrier() {
    std::string without = text();
    size_t at = without.find("dlc::barrier();");
    ASSERT_NE(at, std::string::npos) << without;
    replaceText(without.erase(at, 15));
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({17, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find("race"), std::string::npos) << report();
  }
  void plant(const std::string &line, const std::string &phrase) {
    loadSteps("gru_steps", 3, 1, 140, "f16", 60);
    check({33, 1}, kHalf);
    removeFromHeader("dlc_recurrent_mma.cuh", line);
    expectFault(phrase);
  }
};

TEST_P(PlantedTensorTest, SumsAreReadBeforeTheyAreThere) {
  plant("  barrier(); // all sums of the pass are there\n", "race");
}
TEST_P(PlantedTensorTest, SumsAreOverwrittenWhileTheyAreRead) {
  plant("        barrier(); // all are done with the sums of the pass before\n", "race");
}
TEST_P(PlantedTensorTest, WeightsAreReadBeforeTheyHaveCome) {
  plant("  cp_async_wait<0>();\n", "missing wait");
}
// The directions of a layer have the same shared memory for their sums, one after the other.
TEST_P(PlantedTensorTest, DirectionsDoNotWaitForEachOther) {
  loadDirections("lstm_steps", 4, 2, 77, "f16", 17);
  expectRaceWithoutBarrier();
}
// Layers have the same shared memory for their sums, one after the other.
TEST_P(PlantedTensorTest, LayersDoNotWaitForEachOther) {
  loadLayers("lstm_steps", 4, 2, 77, "f16", 17);
  expectRaceWithoutBarrier();
}
// A layer that multiplies what the one below gives in this wave reads states that are being
// written.
TEST_P(PlantedTensorTest, LayersInOneWave) {
  loadLayers("lstm_steps", 4, 2, 77, "f16", 17);
  std::string early = text();
  size_t at = early.find(", from, from_1, ");
  ASSERT_NE(at, std::string::npos) << early;
  replaceText(early.replace(at, 6, ", to"));
  llvm::SmallVector<Tensor> inputs;
  Tensor actual;
  EXPECT_NE(run({17, 1}, Fill::uniform, inputs, actual), Result::Success);
  EXPECT_NE(report().find("race"), std::string::npos) << report();
}
// Blocks that do not meet after a step read states that others are writing.
TEST_P(PlantedTensorTest, BlocksDoNotMeet) {
  loadSteps("gru_steps", 3, 1, 140, "f16", 60);
  std::string without = text();
  size_t at = without.rfind("dlc::grid_barrier(");
  ASSERT_NE(at, std::string::npos) << without;
  without.erase(at, without.find(';', at) + 1 - at);
  replaceText(without);
  expectFault("race");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedTensorTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, TensorRecurrentTest,
                         ::testing::Values("order", "reverse", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, PlantedRecurrentTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, RecurrentKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
