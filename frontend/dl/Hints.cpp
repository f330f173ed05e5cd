//===- Hints.cpp - What PyTorch's and Keras's ways of writing are called here ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Hints.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace dlc::frontend {

using Predicate = llvm::function_ref<bool(StringRef)>;

/// The name without the module that it is taken from: "torch.nn.functional.relu" gives "relu". Empty where it has none.
static StringRef withoutModule(StringRef name) {
  auto [module, rest] = name.split('.');
  if (!llvm::StringSwitch<bool>(module)
           .Cases({"torch", "nn", "F", "functional", "tf", "keras", "layers", "np", "numpy", "jnp"},
                  true)
           .Default(false))
    return {};
  return name.rsplit('.').second;
}

std::string hintForLayer(StringRef name, Predicate isKnown) {
  if (StringRef bare = withoutModule(name); !bare.empty()) {
    if (isKnown(bare))
      return ("; write " + bare + "(...), without the module").str();
    return hintForLayer(bare, isKnown);
  }
  const char *instead =
      llvm::StringSwitch<const char *>(name)
          .Case("Sequential",
                "declare its layers one below another and call them in 'forward', or write "
                "'sequential Name(x: f32[...]) { ... }' instead of a model")
          .Cases({"ModuleList", "ModuleDict"},
                 "declare each layer, as in 'layers[i]: Linear(8, 8) for i in 0..4'")
          .Case("Module", "layers that belong together are a 'block Name(...) { ... }'")
          .Case("Dense",
                "Keras's Dense(10) is Linear(in_features, 10) here, or stands in a 'sequential'")
          .Case("Conv2D", "Keras's Conv2D(16, 3) is Conv2d(in_channels, 16, 3) here, or stands in "
                          "a 'sequential'")
          .Case("Conv1D", "Keras's Conv1D(16, 3) is Conv1d(in_channels, 16, 3) here, or stands in "
                          "a 'sequential'")
          .Case("MaxPooling2D", "write MaxPool2d, or a 'sequential' with Keras's names")
          .Case("AveragePooling2D", "write AvgPool2d, or a 'sequential' with Keras's names")
          .Case("BatchNormalization",
                "write BatchNorm2d(num_features), or a 'sequential' with Keras's names")
          .Case("Input", "inputs are declared by 'forward(x: f32[N,784])'")
          .Default(nullptr);
  return instead ? std::string("; ") + instead : std::string();
}

std::string hintForCall(StringRef name, Predicate isKnown) {
  if (StringRef bare = name; bare.consume_front("self."))
    return ("; write " + bare + "(...): there is no 'self'").str();
  StringRef bare = withoutModule(name);
  return isKnown(bare) ? ("; write " + bare + "(...), without the module").str() : std::string();
}

std::string hintForValue(StringRef name) {
  if (StringRef bare = name; bare.consume_front("self."))
    return ("; write " + bare + ": there is no 'self'").str();
  const char *literal = llvm::StringSwitch<const char *>(name)
                            .Case("TRUE", "true")
                            .Case("FALSE", "false")
                            .Cases({"none", "null", "nil", "NULL"}, "None")
                            .Default(nullptr);
  return literal ? std::string("; write ") + literal : std::string();
}

std::string hintForDtype(StringRef name) {
  if (StringRef bare = withoutModule(name); !bare.empty())
    name = bare;
  StringRef dtype = llvm::StringSwitch<StringRef>(name)
                        .Cases({"float", "float32", "Float", "single", "fp32"}, "f32")
                        .Cases({"half", "float16", "Half", "fp16"}, "f16")
                        .Cases({"double", "float64", "Double", "fp64"}, "f64")
                        .Case("bfloat16", "bf16")
                        .Cases({"long", "int64", "Long"}, "i64")
                        .Cases({"int", "int32", "Int"}, "i32")
                        .Cases({"short", "int16"}, "i16")
                        .Cases({"int8", "char"}, "i8")
                        .Cases({"uint8", "byte"}, "u8")
                        .Case("uint16", "u16")
                        .Case("uint32", "u32")
                        .Case("uint64", "u64")
                        .Case("float8_e4m3fn", "f8e4m3fn")
                        .Case("float8_e4m3fnuz", "f8e4m3fnuz")
                        .Case("float8_e5m2", "f8e5m2")
                        .Case("float8_e5m2fnuz", "f8e5m2fnuz")
                        .Case("float8_e8m0fnu", "f8e8m0")
                        .Case("int4", "i4")
                        .Case("uint4", "u4")
                        .Case("int2", "i2")
                        .Case("uint2", "u2")
                        .Cases({"boolean", "Bool", "i1"}, "bool")
                        .Default("");
  return dtype.empty() ? std::string() : ("; write " + dtype).str();
}

std::string hintForStart(StringRef word) {
  if (word.starts_with("self."))
    return ("; write '" + word.drop_front(5) + "', without 'self.'").str();
  const char *instead =
      llvm::StringSwitch<const char *>(word)
          .Case("def",
                "write 'forward(x: f32[...]) -> (y: f32[...]) { ... }', without 'def' and 'self'")
          .Case("class", "a class of layers is 'model Name { ... }', or 'block Name(...) { ... }' "
                         "where others use it")
          .Cases({"import", "from"},
                 "nothing is imported but other models' blocks: include \"blocks.dl\"")
          .Cases({"/", "//", "/*"}, "a comment begins with '#'")
          .Case("super", "layers are declared without a constructor")
          .Case("print", "'dlc inspect' shows the shapes of all layers")
          .Case("with",
                "there are no contexts; a dtype is chosen by '@f16' behind a layer or statement")
          .Cases({"assert", "raise", "try", "lambda", "pass", "del", "global", "yield", "async"},
                 "this is no part of the language")
          .Cases({"let", "var", "val"}, "a value is bound by 'x = ...' alone")
          .Cases({"fn", "func", "function"},
                 "write 'forward(x: f32[...]) -> (y: f32[...]) { ... }'")
          .Default(nullptr);
  return instead ? std::string("; ") + instead : std::string();
}

} // namespace dlc::frontend
