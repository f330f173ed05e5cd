//===- TokenizerTest.cpp - Texts and tokens as Hugging Face's package has them ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/text/TextStream.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <random>

using namespace dlc;
using namespace dlc::text;

namespace {

/// The files of make_tokenizers.py; the variable DLC_TOKENIZERS names another folder.
std::string folder() {
  const char *other = std::getenv("DLC_TOKENIZERS");
  return other ? other : DLC_TOKENIZERS;
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder(), error), end; it != end && !error;
       it.increment(error))
    if (llvm::StringRef path = it->path(); path.ends_with(".json"))
      found.push_back(path.drop_back(5).str());
  std::sort(found.begin(), found.end());
  return found;
}

std::string contents(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::string shown(llvm::StringRef text) {
  std::string out;
  llvm::raw_string_ostream(out) << llvm::json::Value(llvm::json::fixUTF8(text));
  return out;
}

struct Case {
  std::string text, decoded;
  std::vector<int64_t> ids;
};

std::vector<Case> cases(const std::string &path) {
  std::string bytes = contents(path + ".cases");
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(bytes).split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<Case> found;
  for (llvm::StringRef line : lines) {
    llvm::json::Value value = llvm::cantFail(llvm::json::parse(line));
    const llvm::json::Array &parts = *value.getAsArray();
    Case one = {parts[0].getAsString()->str(), parts[2].getAsString()->str(), {}};
    for (const llvm::json::Value &id : *parts[1].getAsArray())
      one.ids.push_back(*id.getAsInteger());
    found.push_back(one);
  }
  return found;
}

std::unique_ptr<Tokenizer> parsed(llvm::StringRef text) {
  Problem problem;
  auto tokenizer = Tokenizer::parse(text, "t.json", problem);
  EXPECT_EQ(problem.message, "");
  return tokenizer;
}

std::vector<int64_t> encoded(const Tokenizer &tokenizer, llvm::StringRef text) {
  std::vector<int64_t> ids;
  Problem problem;
  EXPECT_TRUE(tokenizer.encode(text, ids, problem)) << problem.message;
  return ids;
}

void expectRefused(llvm::StringRef text, int code, const std::string &message) {
  Problem problem;
  EXPECT_EQ(Tokenizer::parse(text, "t.json", problem), nullptr) << text.str();
  EXPECT_EQ(problem.code, code) << text.str();
  EXPECT_EQ(problem.message, "'t.json'" + message);
}

/// A file with a model of words and some fields more.
std::string words(const std::string &fields,
                  const std::string &vocabulary = R"("?":0,"a":1,"b":2)") {
  return "{" + fields + (fields.empty() ? "" : ",") +
         R"("model":{"type":"WordLevel","unk_token":"?","vocab":{)" + vocabulary + "}}}";
}

TEST(Tokenizer, GivesTheIdsAndTextsOfThePackage) {
  ASSERT_GE(names().size(), 10u);
  for (const std::string &name : names()) {
    Problem problem;
    auto tokenizer = Tokenizer::load(name + ".json", problem);
    ASSERT_TRUE(tokenizer) << problem.message;
    std::vector<Case> all = cases(name);
    EXPECT_GE(all.size(), 40u) << name;
    for (const Case &one : all) {
      EXPECT_EQ(encoded(*tokenizer, one.text), one.ids) << name << " of " << shown(one.text);
      std::string decoded;
      EXPECT_TRUE(tokenizer->decode(one.ids, decoded, problem)) << problem.message;
      EXPECT_EQ(shown(decoded), shown(one.decoded)) << name << " of " << shown(one.text);
    }
  }
}

/// Whatever comes token by token is the whole text, in whole characters.
TEST(TextStream, GivesTheTextInWholeCharacters) {
  for (const std::string &name : names()) {
    Problem problem;
    auto tokenizer = Tokenizer::load(name + ".json", problem);
    ASSERT_TRUE(tokenizer) << problem.message;
    for (const Case &one : cases(name)) {
      TextStream stream(*tokenizer);
      std::string all, piece;
      for (int64_t id : one.ids) {
        ASSERT_TRUE(stream.add(id, piece, problem));
        EXPECT_TRUE(llvm::json::isUTF8(piece)) << name << " of " << shown(one.text);
        all += piece;
      }
      ASSERT_TRUE(stream.finish(piece, problem));
      EXPECT_EQ(shown(all + piece), shown(one.decoded)) << name << " of " << shown(one.text);
    }
  }
}

/// Beyond the window of tokens that it decodes: all cases one after another, and in a row of bytes
/// alone.
TEST(TextStream, GivesALongText) {
  for (const std::string &name : names()) {
    Problem problem;
    auto tokenizer = Tokenizer::load(name + ".json", problem);
    ASSERT_TRUE(tokenizer) << problem.message;
    std::vector<int64_t> ids;
    for (const Case &one : cases(name))
      ids.insert(ids.end(), one.ids.begin(), one.ids.end());
    ids.resize(std::min<size_t>(ids.size(), 1000)); // the whole is decoded for each
    EXPECT_GT(ids.size(), 90u) << name;
    TextStream stream(*tokenizer);
    std::string all, piece, whole;
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSERT_TRUE(stream.add(ids[i], piece, problem));
      all += piece;
      ASSERT_TRUE(tokenizer->decode({ids.begin(), ids.begin() + static_cast<ptrdiff_t>(i) + 1},
                                    whole, problem));
      // Bytes in a row are U+FFFD each, until the last of them are a character.
      if (!llvm::StringRef(whole).ends_with("\uFFFD"))
        ASSERT_TRUE(llvm::StringRef(whole).starts_with(all)) << name << " at token " << i;
    }
    ASSERT_TRUE(stream.finish(piece, problem));
    EXPECT_EQ(shown(all + piece), shown(whole)) << name;
  }
}

TEST(TextStream, HoldsBytesBackUntilTheyAreACharacter) {
  auto tokenizer =
      parsed(R"({"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]},
    "model":{"type":"BPE","vocab":{"<0xE2>":0,"<0x82>":1,"<0xAC>":2,"x":3,"<0xFF>":4},"merges":[]}})");
  ASSERT_TRUE(tokenizer);
  TextStream stream(*tokenizer);
  std::vector<std::string> pieces;
  Problem problem;
  for (int64_t id : {3, 0, 1, 2, 3, 4, 3, 0}) {
    pieces.emplace_back();
    ASSERT_TRUE(stream.add(id, pieces.back(), problem));
  }
  pieces.emplace_back();
  ASSERT_TRUE(stream.finish(pieces.back(), problem));
  EXPECT_EQ(pieces, (std::vector<std::string>{"x", "", "", "€", "x", "", "\uFFFDx", "", "\uFFFD"}));
}

TEST(Tokenizer, KnowsWhichSpecialTokensEndATexts) {
  auto tokenizer = parsed(words(
      R"("added_tokens":[{"id":3,"content":"<|im_end|>","special":true},{"id":4,"content":"<eos>","special":false},
         {"id":5,"content":"</s>","special":true},{"id":6,"content":"<s>","special":true}])"));
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->endTokens(), (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(tokenizer->id("<eos>"), 4);
  EXPECT_EQ(tokenizer->id("b"), 2);
  EXPECT_EQ(tokenizer->id("c"), std::nullopt);
}

TEST(Tokenizer, TakesEscapesOfCharactersBeyondU20000) {
  auto tokenizer =
      parsed(words("", R"("?":0,"\ud840\udc00":1,"\\ud840\\udc00":2,"\udbff\udfff":3)"));
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(encoded(*tokenizer, "\U00020000"), (std::vector<int64_t>{1}));
  EXPECT_EQ(encoded(*tokenizer, "\\ud840\\udc00"), (std::vector<int64_t>{2}));
  EXPECT_EQ(encoded(*tokenizer, "\U0010FFFF"), (std::vector<int64_t>{3}));
}

TEST(Tokenizer, RefusesATextThatIsNoUtf8) {
  auto tokenizer = parsed(words(""));
  std::vector<int64_t> ids;
  Problem problem;
  EXPECT_FALSE(tokenizer->encode("ab\xff", ids, problem));
  EXPECT_EQ(problem.code, kUsage);
  EXPECT_EQ(problem.message, "the text is no UTF-8 from byte 2 on; convert it first");
}

TEST(Tokenizer, RefusesWhatIsNoFile) {
  expectRefused("", kModelError, " is no tokenizer.json: [1:0, byte=0]: Unexpected EOF");
  expectRefused("{\n  \"model\": }", kModelError,
                " is no tokenizer.json: [2:12, byte=14]: Invalid JSON value");
  expectRefused("[]", kModelError, ": expected an object, got an array");
  expectRefused("{}", kModelError,
                ": model: expected the vocabulary and how it is used, got nothing");
  expectRefused(std::string(100000, '['), kModelError,
                " is larger or nests deeper than any tokenizer.json");
  Problem problem;
  EXPECT_EQ(Tokenizer::load("/nonexistent/t.json", problem), nullptr);
  EXPECT_EQ(problem.code, kDevice);
  EXPECT_EQ(problem.message, "cannot read '/nonexistent/t.json': No such file or directory");
}

TEST(Tokenizer, RefusesByNameWhatItLacks) {
  expectRefused(R"({"model":{"type":"WordPiece","vocab":{}}})", kUnsupported,
                ": model.type: dlc has no 'WordPiece'; expected one of BPE, Unigram, WordLevel");
  expectRefused(
      words(
          R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"BertNormalizer"}]})"),
      kUnsupported,
      ": normalizer.normalizers[1].type: dlc has no 'BertNormalizer'; expected one of Sequence, "
      "Prepend, Replace, Lowercase, NFC, "
      "NFD, NFKC, NFKD, Strip, StripAccents, ByteLevel, Precompiled");
  expectRefused(words(R"("pre_tokenizer":{"type":"UnicodeScripts"})"), kUnsupported,
                ": pre_tokenizer.type: dlc has no 'UnicodeScripts'; expected one of Sequence, "
                "ByteLevel, Split, Metaspace, Digits, "
                "Whitespace, WhitespaceSplit, Punctuation, CharDelimiterSplit");
  expectRefused(words(R"("decoder":{"type":"CTC"})"), kUnsupported,
                ": decoder.type: dlc has no 'CTC'; expected one of Sequence, ByteLevel, "
                "ByteFallback, Fuse, Strip, Replace, Metaspace");
  expectRefused(words(R"("post_processor":{"type":"New"})"), kUnsupported,
                ": post_processor.type: dlc has no 'New'; expected one of Sequence, "
                "TemplateProcessing, ByteLevel, RobertaProcessing, "
                "BertProcessing");
  expectRefused(words(R"("decoder":{"type":"Fuse","how":1})"), kUnsupported,
                ": decoder.how: dlc does not know this key here; expected none beside type");
  expectRefused(words(R"("truncation":{"max_length":8})"), kUnsupported,
                ": truncation: dlc takes texts as they are; expected null (in Python, "
                "tokenizer.no_truncation() and "
                "tokenizer.no_padding(), then save)");
  expectRefused(R"({"model":{"type":"BPE","dropout":0.1,"vocab":{},"merges":[]}})", kUnsupported,
                ": model.dropout: dlc leaves out no merges by chance; expected null");
  expectRefused(
      words(R"("pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Twice"})"),
      kUnsupported,
      ": pre_tokenizer.behavior: expected Removed, Isolated, MergedWithPrevious, MergedWithNext or "
      "Contiguous, got 'Twice'");
  for (const char *construct : {R"(\\b)", "&&", "(?m)", R"(\\h)"})
    expectRefused(
        words(
            std::string(
                R"("pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"[a]|)") +
            (construct[0] == '&' ? std::string("[a&&b]") : construct) + "\"}}"),
        kUnsupported,
        std::string(": pre_tokenizer.pattern.Regex: dlc does not take '") +
            (construct[0] == '\\' ? construct + 1 : construct) +
            "' in an expression; expected groups, alternatives, repeats, classes, lookarounds and "
            "the properties of Unicode");
}

TEST(Tokenizer, SaysWhereAFileIsDamaged) {
  expectRefused(R"({"model":{"type":"BPE","vocab":{"a":0,"b":-1},"merges":[]}})", kModelError,
                ": model.vocab.b: expected a whole number from 0 on, got -1");
  expectRefused(
      R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a","b"]}})", kModelError,
      ": model.merges[0]: expected two tokens, as in \"a b\" or [\"a\", \"b\"], got \"a\"");
  expectRefused(R"({"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[["a","b"]]}})",
                kModelError,
                ": model.merges[0]: expected tokens whose result is one of the vocabulary, which "
                "lacks 'ab', got an array");
  expectRefused(R"({"model":{"type":"Unigram","vocab":[],"unk_id":0}})", kModelError,
                ": model.vocab: expected one token or more, got an array");
  expectRefused(R"({"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":1}})", kModelError,
                ": model.unk_id: expected the id of a token, below 1, got 1");
  expectRefused(
      words(R"("pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"(a"}})"),
      kModelError,
      ": pre_tokenizer.pattern.Regex: expected a regular expression (missing closing parenthesis "
      "at character 2), got \"(a\"");
  expectRefused(
      words(
          R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}],"special_tokens":{}})"),
      kModelError,
      ": post_processor.single[0].SpecialToken.id: expected a token of special_tokens, got "
      "\"<s>\"");
}

TEST(Tokenizer, SaysHowATableOfCharactersIsDamaged) {
  auto table = [](const std::string &base64) {
    return words(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":")" + base64 + "\"}");
  };
  const std::string place = ": normalizer.precompiled_charsmap: ";
  expectRefused(table("?"), kModelError,
                place + "expected Base64 (Base64 encoded strings must be a multiple of 4 bytes in "
                        "length), got \"?\"");
  // The size of the table, in four bytes, is 0, not of whole entries, and beyond the end.
  for (const char *text : {"AAAA", "AAAAAA==", "AwAAAAAAAA==", "CAAAAAAAAAA="})
    expectRefused(table(text), kModelError,
                  place + "expected the size of a table, the table, and texts, got \"" + text +
                      "\"");
  expectRefused(table("BAAAAAAAAAD/"), kModelError,
                place + "expected texts in UTF-8, got \"BAAAAAAAAAD/\"");
  auto tokenizer = parsed(table(""));
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(encoded(*tokenizer, "b"), (std::vector<int64_t>{2}));
}

TEST(Tokenizer, SaysWhatATemplateMayHold) {
  auto processor = [](const std::string &single) {
    return words(R"("post_processor":{"type":"TemplateProcessing","special_tokens":{},"single":[)" +
                 single + "]}");
  };
  expectRefused(processor(R"({"Sequence":{"id":"A"}},{"Sequence":{"id":"A"}})"), kUnsupported,
                ": post_processor.single[1].Sequence: dlc puts the text in one place alone; "
                "expected the sequence A once");
  expectRefused(processor(R"({"Sequence":{"id":"B"}})"), kUnsupported,
                ": post_processor.single[0].Sequence: dlc puts the text in one place alone; "
                "expected the sequence A once");
  expectRefused(processor(""), kModelError,
                ": post_processor.single: expected the sequence A in it, got an array");
}

TEST(Tokenizer, SaysWhatAnOptionMayBe) {
  expectRefused(
      words(R"("pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"last"})"),
      kUnsupported, ": pre_tokenizer.prepend_scheme: expected always, first or never, got 'last'");
  auto split = [](const std::string &expression) {
    return words(R"("pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":")" +
                 expression + "\"}}");
  };
  expectRefused(split("[[:alpha:]]"), kUnsupported,
                ": pre_tokenizer.pattern.Regex: dlc does not take '[ in a class' in an expression; "
                "expected groups, alternatives, "
                "repeats, classes, lookarounds and the properties of Unicode");
  expectRefused(
      split(std::string(70000, 'a')), kUnsupported,
      ": pre_tokenizer.pattern.Regex: an expression of 70000 bytes; expected at most 65536");
  expectRefused(
      R"({"model":{"type":"BPE","continuing_subword_prefix":"##","vocab":{"a":0,"b":1},"merges":[["a","b"]]}})",
      kModelError,
      ": model.merges[0]: expected a second token that begins with continuing_subword_prefix, got "
      "an array");
}

TEST(Tokenizer, RefusesATextThatHasWhatNoTokenIs) {
  auto refusal = [](const std::string &file) {
    auto tokenizer = parsed(file);
    std::vector<int64_t> ids;
    Problem problem;
    EXPECT_FALSE(tokenizer->encode("ax", ids, problem));
    return std::to_string(problem.code) + " " + problem.message;
  };
  EXPECT_EQ(refusal(R"({"model":{"type":"WordLevel","unk_token":"?","vocab":{"a":0}}})"),
            "2 the tokenizer has no token for 'ax', and none for unknown words");
  EXPECT_EQ(refusal(R"({"model":{"type":"Unigram","unk_id":null,"vocab":[["a",-1.5]]}})"),
            "2 the tokenizer has no token for 'x', and none for what is unknown (model.unk_id)");
  EXPECT_EQ(refusal(R"({"model":{"type":"BPE","unk_token":"?","vocab":{"a":0},"merges":[]}})"),
            "1 the tokenizer's model.unk_token '?' is none of its vocabulary");
}

TEST(Tokenizer, EndsWhereAStrangersRulesDoNot) {
  std::string doubles;
  for (int i = 0; i < 60; ++i)
    doubles +=
        std::string(i ? "," : "") + R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
  auto tokenizer =
      parsed(words(R"("normalizer":{"type":"Sequence","normalizers":[)" + doubles + "]}"));
  std::vector<int64_t> ids;
  Problem problem;
  EXPECT_FALSE(tokenizer->encode("a", ids, problem));
  EXPECT_EQ(problem.message,
            "the text becomes longer than 4 MiB by the tokenizer's rules, or is; shorten it");
  tokenizer = parsed(words(
      R"("pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"(a+)+[cd]"}})"));
  Problem slow;
  EXPECT_FALSE(tokenizer->encode(std::string(60, 'a') + "b", ids, slow));
  EXPECT_EQ(slow.code, kUnsupported);
  EXPECT_EQ(slow.message,
            "matching the expression '(a+)+[cd]' of the tokenizer takes too many steps");
}

/// Whatever is left of a file, or became of it, is refused with a sentence or works.
void tryFile(llvm::StringRef bytes) {
  Problem problem;
  auto tokenizer = Tokenizer::parse(bytes, "t.json", problem);
  EXPECT_EQ(tokenizer == nullptr, problem.code != kOk);
  EXPECT_EQ(tokenizer == nullptr, !problem.message.empty());
  if (!tokenizer)
    return;
  std::vector<int64_t> ids;
  std::string text;
  if (tokenizer->encode("Once upon <s> a\u0301 \U0001F600 12\n\n the word</s>", ids, problem))
    tokenizer->decode(ids, text, problem);
  EXPECT_TRUE(llvm::json::isUTF8(text));
}

TEST(Tokenizer, SurvivesFilesThatWereCut) {
  for (const std::string &name : names()) {
    std::string bytes = contents(name + ".json");
    for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 400)
      tryFile(llvm::StringRef(bytes).take_front(size));
  }
}

TEST(Tokenizer, SurvivesFilesThatWereChanged) {
  std::mt19937 random(7);
  auto below = [&](size_t bound) { return random() % bound; };
  const std::vector<std::string> values = {"null",  "0",           "-1",          "1e400",
                                           "\"\"",  "[]",          "{}",          "true",
                                           "\"▁\"", "99999999999", "\"Isolated\""};
  for (const std::string &name : names()) {
    const std::string bytes = contents(name + ".json");
    for (int i = 0; i < 300; ++i) {
      std::string changed = bytes;
      for (size_t changes = 1 + below(3); changes > 0; --changes) {
        // Most of a file is its vocabulary: every other change is before or after it.
        size_t at =
            below(2) ? below(changed.size()) : below(std::min<size_t>(changed.size(), 1500));
        switch (below(4)) {
        case 0:
          changed[at] = static_cast<char>(below(256));
          break;
        case 1:
          changed.erase(at, 1 + below(20));
          break;
        case 2:
          changed.insert(at, changed.substr(below(changed.size()), below(40)));
          break;
        default: // another value for a key
          size_t colon = changed.find("\":", at);
          size_t end = colon == std::string::npos ? colon : changed.find_first_of(",}", colon);
          if (end != std::string::npos)
            changed.replace(colon + 2, end - colon - 2, values[below(values.size())]);
        }
      }
      tryFile(changed);
    }
  }
}

} // namespace
