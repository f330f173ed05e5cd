//===- Recurrent.cpp - Keras's recurrent layers -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keras stores [in, gates * units]; PyTorch's functions take [gates * units, in]. The gates of LSTM
// stand in the same order (i, f, c, o and i, f, g, o), those of GRU as z, r, h where PyTorch has r,
// z, n.
//===------------------------------------------------------------------------------------------===//
#include "frontend/keras/KerasCall.h"

using namespace mlir;

namespace dlc::frontend {

using Named = KerasCall::Named;

/// GRU's gates in PyTorch's order, along dim 0.
static Item ordered(KerasCall &call, const Item &x, int64_t units) {
  if (!x.isTensor())
    return x;
  Item::List parts;
  for (int64_t gate : {1, 0, 2})
    parts.push_back(
        call.function("slice", x,
                      {Named{"dim", call.number(0)}, Named{"start", call.number(gate * units)},
                       Named{"end", call.number((gate + 1) * units)}}));
  return call.function("cat", Item{std::move(parts), call.loc}, Named{"dim", call.number(0)});
}

/// x at one index of dim 0, without that dim.
static Item at(KerasCall &call, const Item &x, int64_t index) {
  if (!x.isTensor())
    return x;
  Item row = call.function("slice", x,
                           {Named{"dim", call.number(0)}, Named{"start", call.number(index)},
                            Named{"end", call.number(index + 1)}});
  return row.isTensor() ? call.reshape(row, llvm::ArrayRef(call.dims(x)).drop_front()) : row;
}

/// The weights of one direction, in PyTorch's order.
static void addParams(KerasCall &call, StringRef prefix, int64_t gates, int64_t features,
                      Item::List &params) {
  bool isGru = gates == 3;
  int64_t units = call.arguments.size("units");
  auto turned = [&](StringRef leaf, int64_t rows) {
    Item kernel = call.permute(call.weight((prefix + leaf).str(), {rows, gates * units}), {1, 0});
    return isGru ? ordered(call, kernel, units) : kernel;
  };
  params.push_back(turned("kernel", features));
  params.push_back(turned("recurrent_kernel", units));
  if (!call.arguments.flag("use_bias"))
    return;
  std::string leaf = (prefix + "bias").str();
  if (isGru) { // one for the input, one for the state
    Item both = call.weight(leaf, {2, gates * units});
    for (int64_t i : {0, 1})
      params.push_back(ordered(call, at(call, both, i), units));
  } else {
    params.push_back(call.weight(leaf, {gates * units}));
    params.push_back(call.full(0.0, {gates * units}));
  }
}

static void recurrent(KerasCall &call, StringRef callee, int64_t gates) {
  Item x = call.logical();
  if (call.failed())
    return;
  if (x.tensorType().getRank() != 3) {
    call.error(quote(call.kind) + " takes a tensor of 3 dims, got " + dl::text(x.as<Value>()));
    return;
  }
  int64_t features = call.staticSize(x, 2);
  Item::List params;
  if (call.isBidirectional) {
    std::string name = call.kind == "SimpleRNN" ? "simple_rnn" : call.kind.lower();
    addParams(call, "forward_" + name + ".", gates, features, params);
    addParams(call, "backward_" + name + ".", gates, features, params);
  } else {
    addParams(call, "", gates, features, params);
  }
  Item hx = callee == "lstm" ? Item{Item::List(), call.loc} : Item{Item::None(), call.loc};
  if (call.failed())
    return;
  Item results = call.function(callee, {},
                               {Named{"x", x}, Named{"hx", hx},
                                Named{"params", Item{std::move(params), call.loc}},
                                Named{"bidirectional", Item{call.isBidirectional, call.loc}},
                                Named{"batch_first", Item{true, call.loc}}});
  if (call.failed())
    return;
  const Item::List &list = results.as<Item::List>();
  if (call.arguments.flag("return_sequences"))
    return call.give(list[0]);
  // The final states, of each direction: [directions, N, units].
  Item last = at(call, list[1], 0);
  if (call.isBidirectional && last.isTensor())
    last = call.function("cat", Item{Item::List{last, at(call, list[1], 1)}, call.loc},
                         Named{"dim", call.number(1)});
  call.give(last);
}

/// Refuses activations that the functions do not have.
static bool hasActivations(KerasCall &call, StringRef gate) {
  if (!gate.empty() && call.textOf("recurrent_activation") != gate) {
    call.error(quote(call.kind) + " is supported with recurrent_activation='" + gate +
               "' alone, got " + quote(call.textOf("recurrent_activation")));
    return false;
  }
  if (call.textOf("activation") == "tanh" || (gate.empty() && call.textOf("activation") == "relu"))
    return true;
  call.error(quote(call.kind) + " is supported with activation='tanh' " +
             (gate.empty() ? "and 'relu' alone" : "alone") + ", got " +
             quote(call.textOf("activation")));
  return false;
}

static void lstm(KerasCall &call) {
  if (hasActivations(call, "sigmoid"))
    recurrent(call, "lstm", 4);
}

static void gru(KerasCall &call) {
  if (!call.arguments.flag("reset_after"))
    call.error("'GRU' is supported with reset_after=true alone, got false");
  else if (hasActivations(call, "sigmoid"))
    recurrent(call, "gru", 3);
}

static void simpleRnn(KerasCall &call) {
  if (hasActivations(call, ""))
    recurrent(call, call.textOf("activation") == "relu" ? "rnn_relu" : "rnn_tanh", 1);
}

std::vector<KerasKind> kerasRecurrentLayers() {
  return {
      {"LSTM",
       "(int units, str activation='tanh', str recurrent_activation='sigmoid', bool use_bias=True, "
       "bool return_sequences=False)",
       lstm},
      {"GRU",
       "(int units, str activation='tanh', str recurrent_activation='sigmoid', bool use_bias=True, "
       "bool return_sequences=False, bool reset_after=True)",
       gru},
      {"SimpleRNN",
       "(int units, str activation='tanh', bool use_bias=True, bool return_sequences=False)",
       simpleRnn},
  };
}

} // namespace dlc::frontend
