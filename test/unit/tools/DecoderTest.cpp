//===- DecoderTest.cpp - Which token follows the scores of all ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/Decoder.h"
#include "test/unit/runtime/CudaRunner.h"
#include "tools/driver/base/ExitCode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<double> kLogits = {0.5, 2, -1, 1, 0, 2.5, -3};

Sampling sampled(double temperature, int64_t topK = 0, double topP = 1, uint64_t seed = 0) {
  return {temperature, topK, topP, seed};
}

/// The tokens of the first `count` steps.
std::vector<int64_t> draw(const std::vector<double> &logits, const Sampling &sampling,
                          uint64_t count) {
  std::vector<int64_t> tokens;
  for (uint64_t step = 0; step < count; ++step)
    tokens.push_back(chooseToken(logits, sampling, step));
  return tokens;
}

/// The softmax of `logits` over `temperature`, of the tokens in `kept` alone.
std::vector<double> softmax(const std::vector<double> &logits, double temperature,
                            const std::set<int64_t> &kept) {
  std::vector<double> out(logits.size());
  double sum = 0;
  for (int64_t token : kept)
    sum += out[token] = std::exp(logits[token] / temperature);
  for (double &value : out)
    value /= sum;
  return out;
}

/// Many draws have the frequencies of `expected`: each within five standard deviations, and none
/// where it is 0.
void expectFrequencies(const std::vector<double> &logits, const Sampling &sampling,
                       const std::vector<double> &expected) {
  constexpr uint64_t kDraws = 100000;
  std::vector<int64_t> counts(logits.size());
  for (int64_t token : draw(logits, sampling, kDraws))
    ++counts.at(token);
  for (size_t token = 0; token < logits.size(); ++token) {
    double p = expected[token], mean = p * kDraws;
    EXPECT_LE(std::abs(double(counts[token]) - mean), 5 * std::sqrt(mean * (1 - p)) + 1e-6)
        << "token " << token << " of probability " << p << " was drawn " << counts[token]
        << " times";
  }
}

const std::set<int64_t> kAll = {0, 1, 2, 3, 4, 5, 6};

} // namespace

TEST(Decoder, WithoutATemperatureItIsTheLargest) {
  EXPECT_EQ(chooseToken(kLogits, {}, 0), 5);
  EXPECT_EQ(chooseToken(kLogits, {}, 17), 5);
  EXPECT_EQ(chooseToken({-7}, {}, 0), 0);
  EXPECT_EQ(chooseToken({-kInfinity, -1e300, -kInfinity}, {}, 0), 1);
}

TEST(Decoder, OfTwoThatAreAsLikelyItIsTheSmaller) {
  EXPECT_EQ(chooseToken({1, 3, 2, 3, 3}, {}, 0), 1);
  EXPECT_EQ(chooseToken({0.0, -0.0}, {}, 0), 0);
  // Where only one is drawn among, too.
  for (uint64_t step = 0; step < 100; ++step)
    EXPECT_EQ(chooseToken({1, 3, 2, 3, 3}, sampled(1, 0, 0), step), 1);
  // The K likeliest are drawn, and those as likely as the last of them.
  for (int64_t topK : {1, 2, 3}) {
    std::vector<int64_t> tokens = draw({1, 3, 2, 3, 3}, sampled(1, topK), 200);
    EXPECT_EQ(std::set<int64_t>(tokens.begin(), tokens.end()), std::set<int64_t>({1, 3, 4}));
  }
}

TEST(Decoder, DrawsHaveTheProbabilitiesOfTheSoftmax) {
  for (double temperature : {0.5, 1.0, 3.0})
    for (uint64_t seed : {0U, 1U, 4000000000U})
      expectFrequencies(kLogits, sampled(temperature, 0, 1, seed),
                        softmax(kLogits, temperature, kAll));
  // Large scores do not overflow, and -inf is never drawn.
  expectFrequencies({1000, 1001, -kInfinity, 999}, sampled(1),
                    softmax({0, 1, -kInfinity, -1}, 1, {0, 1, 3}));
}

TEST(Decoder, ASmallTemperatureTakesTheLargest) {
  for (int64_t token : draw(kLogits, sampled(1e-3), 1000))
    EXPECT_EQ(token, 5);
}

TEST(Decoder, TopKDrawsAmongTheLargest) {
  expectFrequencies(kLogits, sampled(1, 3), softmax(kLogits, 1, {5, 1, 3}));
  expectFrequencies(kLogits, sampled(2, 2, 1, 9), softmax(kLogits, 2, {5, 1}));
  // As many as there are, or more, are all.
  EXPECT_EQ(draw(kLogits, sampled(1, 7), 500), draw(kLogits, sampled(1), 500));
  EXPECT_EQ(draw(kLogits, sampled(1, 1000), 500), draw(kLogits, sampled(1), 500));
}

TEST(Decoder, TopPDrawsAmongTheFewestThatHaveItTogether) {
  // Probabilities of 1/2, 1/4, 1/8 and 1/8, in another order.
  std::vector<double> logits = {std::log(0.125), std::log(0.5), std::log(0.125), std::log(0.25)};
  expectFrequencies(logits, sampled(1, 0, 0.4), {0, 1, 0, 0});
  expectFrequencies(logits, sampled(1, 0, 0.6), {0, 2.0 / 3, 0, 1.0 / 3});
  expectFrequencies(logits, sampled(1, 0, 0.8), {1.0 / 7, 4.0 / 7, 0, 2.0 / 7});
  expectFrequencies(logits, sampled(1, 0, 0.99), {0.125, 0.5, 0.125, 0.25});
  expectFrequencies(logits, sampled(1, 0, 1), {0.125, 0.5, 0.125, 0.25});
  // The temperature comes first: at 1/2 the probabilities are 16, 4, 1 and 1 of 22.
  expectFrequencies(logits, sampled(0.5, 0, 0.7), {0, 1, 0, 0});
  // It counts among those that top-k leaves: of two, 2/3 and 1/3.
  expectFrequencies(logits, sampled(1, 2, 0.65), {0, 1, 0, 0});
  expectFrequencies(logits, sampled(1, 2, 0.7), {0, 2.0 / 3, 0, 1.0 / 3});
}

TEST(Decoder, EqualSeedsDrawEqualTokens) {
  for (uint64_t seed : {uint64_t(0), uint64_t(7), ~uint64_t(0)})
    EXPECT_EQ(draw(kLogits, sampled(1, 5, 0.9, seed), 200),
              draw(kLogits, sampled(1, 5, 0.9, seed), 200));
  std::set<std::vector<int64_t>> texts;
  for (uint64_t seed = 0; seed < 100; ++seed)
    texts.insert(draw(kLogits, sampled(1, 0, 1, seed), 50));
  EXPECT_EQ(texts.size(), 100U) << "other seeds draw others";
  // Neither are the draws of one seed those of the next, a step later.
  EXPECT_NE(draw(kLogits, sampled(1, 0, 1, 1), 50), [] {
    std::vector<int64_t> later = draw(kLogits, sampled(1), 51);
    return std::vector<int64_t>(later.begin() + 1, later.end());
  }());
}

TEST(Decoder, ThePythonPackageDrawsTheSame) {
  // What `_choose` of runtime/python/dlc/generation.py gives; test/python/generation.py expects the
  // same numbers.
  EXPECT_EQ(draw(kLogits, sampled(1.5, 6, 0.95, 7), 24),
            std::vector<int64_t>(
                {5, 5, 0, 1, 1, 5, 1, 5, 5, 1, 5, 4, 0, 0, 0, 1, 0, 5, 1, 3, 1, 5, 5, 1}));
  EXPECT_EQ(draw({1, 3, 2, 3, 3}, sampled(1, 2, 0.9, 5), 24),
            std::vector<int64_t>(
                {3, 4, 1, 1, 1, 3, 4, 3, 3, 3, 3, 1, 4, 3, 4, 4, 4, 3, 1, 3, 1, 4, 1, 4}));
}

namespace {

/// (ids i64[1,T]) -> (logits f32[1,T,3]): token t is followed by t + 1, and 2 by NaN; a cache of 4
/// positions.
std::string writeDecoder(const std::string &folder) {
  using namespace dlc::schema;
  PackageBuilder p;
  Expr one = p.constant(1), t = p.symbol("T", 1, 2), three = p.constant(3);
  p.input("ids", DType::i64, {one, t});
  p.output("logits", DType::f32, {one, t, three});
  p.module.cache = std::make_unique<CacheT>();
  p.module.cache->capacity = 4;
  p.module.cache->step = t.row;
  p.program(schema::Target::cpu);
  uint32_t ids = p.buffer(Storage::input, DType::i64, {one, t}),
           logits = p.buffer(Storage::output, DType::f32, {one, t, three});
  uint32_t next = p.kernel("next", [](const dlc::abi::CpuArgs *args, int64_t, int64_t, void *) {
    auto *in = static_cast<const int64_t *>(args->buffers[0]);
    auto *out = static_cast<float *>(args->buffers[1]);
    for (int64_t i = 0; i < args->dims[0]; ++i)
      for (int64_t token = 0; token < 3; ++token)
        out[3 * i + token] = in[i] == 2 ? std::nanf("") : float(token == in[i] + 1);
  });
  p.launch(next,
           {PackageBuilder::buffer(ids), PackageBuilder::buffer(logits), PackageBuilder::dim(t)},
           {one});
  std::string path = folder + "/model.bin";
  std::vector<uint8_t> file = p.file();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  return path;
}

/// The ExitCode of reading `tokens`, and what is reported.
std::pair<int, std::string> read(Decoder &decoder, const std::vector<int64_t> &tokens,
                                 std::vector<double> &logits) {
  testing::internal::CaptureStderr();
  int code = decoder.read(tokens, logits);
  return {code, testing::internal::GetCapturedStderr()};
}

using Read = std::pair<int, std::string>;

struct OpenDecoder : testing::Test {
  void SetUp() override {
    DeviceOptions options;
    options.device = "cpu";
    ASSERT_EQ(decoder.open(writeDecoder(folder.path()), options), kOk);
  }
  TemporaryFolder folder;
  Decoder decoder;
  std::vector<double> logits;
};

} // namespace

TEST_F(OpenDecoder, KnowsItsSizes) {
  EXPECT_EQ(decoder.capacity(), 4);
  EXPECT_EQ(decoder.vocabulary(), 3);
}

TEST_F(OpenDecoder, ReadsInAsManyRunsAsNeededUntilTheCacheIsFull) {
  EXPECT_EQ(read(decoder, {1, 1, 0}, logits), Read(kOk, "")); // in runs of two and one
  EXPECT_EQ(logits, std::vector<double>({0, 1, 0}));
  EXPECT_EQ(read(decoder, {1}, logits), Read(kOk, ""));
  EXPECT_EQ(logits, std::vector<double>({0, 0, 1}));
  EXPECT_EQ(read(decoder, {1}, logits),
            Read(kUsage, "error: the model's cache holds 4 positions, of which 4 are taken, and "
                         "this run brings 1; reset the states first (--reset-state, "
                         "dlc_context_reset_states), or compile the model with a larger cache\n"));
}

TEST_F(OpenDecoder, NoTokenFollowsNan) {
  EXPECT_EQ(read(decoder, {0, 2}, logits),
            Read(kAccuracy, "error: the model's logits hold NaN after token 2; dlc compare and dlc "
                            "verify help to find out why\n"));
  // Those of an earlier token do not matter.
  EXPECT_EQ(read(decoder, {2, 0}, logits), Read(kOk, ""));
  EXPECT_EQ(logits, std::vector<double>({0, 1, 0}));
}
