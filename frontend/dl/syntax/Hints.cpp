//===- Hints.cpp - What PyTorch's and Keras's ways of writing are called here -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Hints.h"

#include "frontend/Spelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"

using llvm::StringRef;

namespace dlc::frontend {

using Predicate = llvm::function_ref<bool(StringRef)>;

/// The name without the module that it is taken from: "torch.nn.functional.relu" gives "relu".
/// Empty where it has none.
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
                "Keras's Dense(10) is Linear(in_features, 10) here, or belongs in a 'sequential'")
          .Case("Conv2D", "Keras's Conv2D(16, 3) is Conv2d(in_channels, 16, 3) here, or belongs in "
                          "a 'sequential'")
          .Case("Conv1D", "Keras's Conv1D(16, 3) is Conv1d(in_channels, 16, 3) here, or belongs in "
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

std::string describeLacking(StringRef name, Predicate isKnown) {
  StringRef bare = withoutModule(name);
  if (bare.empty())
    bare = name;
  const char *kind = isTorchFunction(bare) ? "function" : isTorchLayer(bare) ? "layer" : nullptr;
  if (!kind || isKnown(bare))
    return {};
  return "dlc does not support PyTorch's " + std::string(kind) + " " + quote(name) +
         "; 'dlc list " + (isTorchFunction(bare) ? "ops" : "layers") + "' shows the supported ones";
}

std::string hintForValue(StringRef name) {
  if (StringRef bare = name; bare.consume_front("self."))
    return ("; write " + bare + ": there is no 'self'").str();
  const char *literal = llvm::StringSwitch<const char *>(name)
                            .Case("TRUE", "true")
                            .Case("FALSE", "false")
                            .Cases({"none", "null", "nil", "NULL"}, "None")
                            .Default(nullptr);
  if (literal)
    return std::string("; write ") + literal;
  // A short name such as 'half' may be a value's that is misspelt.
  bool isDtype = !withoutModule(name).empty() || llvm::isDigit(name.back());
  return isDtype ? hintForDtype(name) : std::string();
}

/// The characters of ASCII that `character` looks like, or that word processors
/// turn into it; empty where it looks like none.
static std::string lookAlike(llvm::UTF32 character) {
  if (character >= 0xFF01 && character <= 0xFF5E) // full-width forms
    return std::string(1, static_cast<char>(character - 0xFEE0));
  static constexpr struct {
    llvm::UTF32 character;
    const char *meant;
  } kLookAlikes[] = {
      {0x00D7, "*"},  {0x00F7, "/"},   {0x2010, "-"},  {0x2011, "-"},  {0x2012, "-"},
      {0x2013, "-"},  {0x2014, "-"},   {0x2018, "'"},  {0x2019, "'"},  {0x201C, "\""},
      {0x201D, "\""}, {0x2026, "..."}, {0x2190, "="},  {0x2192, "->"}, {0x2212, "-"},
      {0x2217, "*"},  {0x2260, "!="},  {0x2264, "<="}, {0x2265, ">="}, {0x22C5, "*"},
      {0x0391, "A"},  {0x0392, "B"},   {0x0395, "E"},  {0x039A, "K"},  {0x039C, "M"},
      {0x039D, "N"},  {0x03A4, "T"},   {0x03A7, "X"},  {0x03BD, "v"},  {0x03BF, "o"},
      {0x0410, "A"},  {0x0412, "B"},   {0x0415, "E"},  {0x041A, "K"},  {0x041C, "M"},
      {0x041D, "H"},  {0x041E, "O"},   {0x0420, "P"},  {0x0421, "C"},  {0x0422, "T"},
      {0x0425, "X"},  {0x0430, "a"},   {0x0435, "e"},  {0x043E, "o"},  {0x0440, "p"},
      {0x0441, "c"},  {0x0443, "y"},   {0x0445, "x"},  {0x0456, "i"},  {0x0458, "j"}};
  for (const auto &entry : kLookAlikes)
    if (entry.character == character)
      return entry.meant;
  return {};
}

std::string describeStray(StringRef text) {
  const auto *bytes = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  std::string numbers;
  llvm::UTF32 first = 0;
  unsigned count = 0;
  for (const auto *end = bytes + text.size(); bytes != end; ++count) {
    llvm::UTF32 character = 0;
    if (llvm::convertUTF8Sequence(&bytes, end, &character, llvm::strictConversion) !=
        llvm::conversionOK)
      return "these bytes are not valid UTF-8; save the file as UTF-8";
    if (count == 0)
      first = character;
    if (count < 4)
      numbers += llvm::formatv("{0}U+{1:X-4}", count ? ", " : "", character).str();
    else if (count == 4)
      numbers += ", ...";
  }
  bool isInvisible = llvm::sys::unicode::isFormatting(first) || first == 0xA0 ||
                     (first >= 0x2000 && first <= 0x200F) || first == 0x202F || first == 0x3000;
  if (isInvisible && count == 1)
    return "an invisible character, " + numbers + ", has no meaning here; " +
           (first == 0xA0 || first == 0x3000 ? "write a space" : "remove it");
  if (isInvisible)
    return "invisible characters, " + numbers + ", have no meaning here; remove them";
  std::string meant = count == 1 ? lookAlike(first) : std::string();
  return quote(text) + " (" + numbers + ") has no meaning here; " +
         (meant.empty() ? "remove it" : "write " + meant);
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
          .Case("const",
                "constants are declared above 'forward'; in it a name is enough, as in 'size = 3'")
          .Case("super", "layers are declared without a constructor")
          .Case("print", "'dlc inspect' shows the shapes of all layers")
          .Case("with",
                "there are no contexts; a dtype is chosen by '@f16' after a layer or statement")
          .Cases({"assert", "raise", "try", "lambda", "pass", "del", "global", "yield", "async"},
                 "this is no part of the language")
          .Cases({"let", "var", "val"}, "a value is bound by 'x = ...' alone")
          .Cases({"fn", "func", "function"},
                 "write 'forward(x: f32[...]) -> (y: f32[...]) { ... }'")
          .Default(nullptr);
  return instead ? std::string("; ") + instead : std::string();
}

} // namespace dlc::frontend
