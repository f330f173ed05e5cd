//===- Recurrent.cpp - LSTM, GRU and RNN --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"
#include "frontend/dl/lower/LayerCalls.h"

namespace dlc::frontend {

/// PyTorch's flat weights: of each layer and in it of each direction, as the functions take them in
/// `params`.
static void recurrentWeights(const LayerArguments &a, LayerWeights &weights, int64_t gates,
                             int64_t projection) {
  int64_t hidden = a.size("hidden_size"), state = projection ? projection : hidden;
  int64_t directions = a.flag("bidirectional") ? 2 : 1, count = a.size("num_layers");
  constexpr int64_t kMaxStacked = 1024;
  if (count > kMaxStacked) {
    a.refuse("num_layers", "num_layers is " + llvm::Twine(count) + "; expected at most " +
                               llvm::Twine(kMaxStacked));
    return;
  }
  for (int64_t layer = 0; layer < count; ++layer)
    for (int64_t direction = 0; direction < directions; ++direction) {
      std::string suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      int64_t input = layer ? state * directions : a.size("input_size");
      auto add = [&](const char *name, llvm::SmallVector<int64_t> shape) {
        weights.add(name + suffix, std::move(shape), "params");
      };
      add("weight_ih", {gates * hidden, input});
      add("weight_hh", {gates * hidden, state});
      if (a.flag("bias")) {
        add("bias_ih", {gates * hidden});
        add("bias_hh", {gates * hidden});
      }
      if (projection)
        add("weight_hr", {projection, hidden});
    }
}

static void lstmWeights(const LayerArguments &a, LayerWeights &weights) {
  int64_t projection = a.get("proj_size").as<int64_t>();
  if (projection < 0 || projection >= a.size("hidden_size")) {
    if (projection != 0)
      a.refuse("proj_size", "proj_size is " + llvm::Twine(projection) +
                                "; expected 0, or a size below hidden_size, which is " +
                                llvm::Twine(a.size("hidden_size")));
    projection = 0;
  }
  recurrentWeights(a, weights, 4, projection);
}

template <int64_t Gates>
static void weightsOfGates(const LayerArguments &a, LayerWeights &weights) {
  recurrentWeights(a, weights, Gates, 0);
}

static Item recurrent(LayerCall &call, llvm::StringRef function) {
  Item::List none;
  Item x = call.first();
  if (auto p = call.arguments.get("dropout"); p.as<double>() != 0)
    x = call.function("dropout", x, {{"p", p}, {"function", {std::string("lstm"), call.loc}}});
  Item hx = call.input("hx");
  if (function == "lstm" && hx.is<Item::None>())
    hx = {none, call.loc};
  return call.function(function, {},
                       {{"x", x},
                        {"hx", hx},
                        {"params", {call.weights("params"), call.loc}},
                        {"lengths", call.input("lengths")},
                        {"num_layers", call.arguments.get("num_layers")},
                        {"bidirectional", call.arguments.get("bidirectional")},
                        {"batch_first", call.arguments.get("batch_first")}});
}

/// y, (h_n, c_n)
static Item lstm(LayerCall &call) {
  Item results = recurrent(call, "lstm");
  if (!results.is<Item::List>())
    return results;
  const Item::List &list = results.as<Item::List>();
  return {Item::List{list[0], {Item::List{list[1], list[2]}, call.loc}}, call.loc};
}

static Item gru(LayerCall &call) { return recurrent(call, "gru"); }

static Item rnn(LayerCall &call) {
  return recurrent(call, call.arguments.get("nonlinearity").as<std::string>() == "relu"
                             ? "rnn_relu"
                             : "rnn_tanh");
}

/// Weights of a cell: those of one layer, named as the parameters of the cell's function.
template <int64_t Gates> static void weightsOfCell(const LayerArguments &a, LayerWeights &weights) {
  int64_t hidden = a.size("hidden_size");
  weights.add("weight_ih", {Gates * hidden, a.size("input_size")}, "w_ih");
  weights.add("weight_hh", {Gates * hidden, hidden}, "w_hh");
  if (a.flag("bias")) {
    weights.add("bias_ih", {Gates * hidden}, "b_ih");
    weights.add("bias_hh", {Gates * hidden}, "b_hh");
  }
}

static Item rnnCell(LayerCall &call) {
  return call.function(call.arguments.get("nonlinearity").as<std::string>() == "relu"
                           ? "rnn_relu_cell"
                           : "rnn_tanh_cell",
                       {},
                       {{"x", call.first()},
                        {"hx", call.input("hx")},
                        {"w_ih", call.weight("w_ih")},
                        {"w_hh", call.weight("w_hh")},
                        {"b_ih", call.weight("b_ih")},
                        {"b_hh", call.weight("b_hh")}});
}

static void refuseOtherThanTanhAndRelu(const LayerArguments &a) {
  std::string kind = a.get("nonlinearity").as<std::string>();
  if (kind != "tanh" && kind != "relu")
    a.refuse("nonlinearity", "nonlinearity is " + quote(kind) + "; expected 'tanh' or 'relu'");
}

std::vector<LayerKind> recurrentLayers() {
  return {
      {.name = "LSTM",
       .function = "lstm",
       .schema = "(int input_size, int hidden_size, int num_layers=1, bool bias=True, bool "
                 "batch_first=False, float dropout=0.0, bool bidirectional=False, int "
                 "proj_size=0)",
       .weights = lstmWeights,
       .call = "(Tensor input, Tensor[]? hx=None, Tensor? lengths=None)",
       .build = lstm},
      {.name = "GRU",
       .function = "gru",
       .schema = "(int input_size, int hidden_size, int num_layers=1, bool bias=True, bool "
                 "batch_first=False, float dropout=0.0, bool bidirectional=False)",
       .weights = weightsOfGates<3>,
       .call = "(Tensor input, Tensor? hx=None, Tensor? lengths=None)",
       .build = gru},
      {.name = "RNN",
       .function = "rnn_tanh",
       .schema = "(int input_size, int hidden_size, int num_layers=1, str nonlinearity='tanh', "
                 "bool bias=True, bool batch_first=False, float dropout=0.0, bool "
                 "bidirectional=False)",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             refuseOtherThanTanhAndRelu(a);
             recurrentWeights(a, weights, 1, 0);
           },
       .call = "(Tensor input, Tensor? hx=None, Tensor? lengths=None)",
       .build = rnn},
      {.name = "LSTMCell",
       .function = "lstm_cell",
       .schema = "(int input_size, int hidden_size, bool bias=True)",
       .weights = weightsOfCell<4>,
       .call = "(Tensor input, Tensor[]? hx=None)"},
      {.name = "GRUCell",
       .function = "gru_cell",
       .schema = "(int input_size, int hidden_size, bool bias=True)",
       .weights = weightsOfCell<3>,
       .call = "(Tensor input, Tensor? hx=None)"},
      {.name = "RNNCell",
       .function = "rnn_tanh_cell",
       .schema = "(int input_size, int hidden_size, bool bias=True, str nonlinearity='tanh')",
       .weights =
           [](const LayerArguments &a, LayerWeights &weights) {
             refuseOtherThanTanhAndRelu(a);
             weightsOfCell<1>(a, weights);
           },
       .call = "(Tensor input, Tensor? hx=None)",
       .build = rnnCell},
  };
}

} // namespace dlc::frontend
