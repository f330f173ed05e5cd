//===- WeightBinding.cpp - A model's parameters and the tensors of files ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/weights/WeightBinding.h"

#include "frontend/Spelling.h"
#include "frontend/weights/WeightRules.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace dlc::frontend {

namespace {

/// A tensor of a file under the path that the clause's rules lead to.
struct Candidate {
  const OpenedClause *clause;
  const WeightFile *file;
  const StoredTensor *tensor;
  bool isClaimed = false;
};

/// Something wrong with one weight.
struct Problem {
  enum Kind { missing, unfit, extra } kind;
  llvm::SMLoc loc;
  std::string message;
};

class Binder {
public:
  Binder(const Model &model, ArrayRef<OpenedClause> clauses, Diagnostics &diagnostics,
         MLIRContext *context, bool withHashes)
      : model(model), clauses(clauses), diagnostics(diagnostics), context(context),
        withHashes(withHashes) {}

  BoundWeights run();

private:
  void collectParameters();
  void collectCandidates();
  void collectTies();
  const Parameter *tiedTo(const Parameter &parameter) const;
  void bind(const Parameter &parameter);
  void bindTied(const Parameter &parameter, const Parameter &target);
  bool isTransposed(const Candidate &candidate, const Parameter &parameter) const;
  void readBytes(const Candidate &candidate, const Parameter &parameter, BoundWeight &weight);
  void noteExtras();
  void warnOfIdleRules();
  std::optional<StringRef> nearestOf(StringRef name, ArrayRef<StringRef> names);
  void report();

  const Model &model;
  ArrayRef<OpenedClause> clauses;
  Diagnostics &diagnostics;
  MLIRContext *context;
  bool withHashes;
  llvm::MapVector<StringRef, const Parameter *> parameters; // by path
  bool hasErroneousLayer = false;
  llvm::MapVector<std::string, Candidate, llvm::StringMap<unsigned>> candidates; // by path
  llvm::StringMap<std::pair<StringRef, const TextPair *>> ties; // path -> path whose weight it gets
  std::string fileNames;
  SmallVector<StringRef> owned, spare, missing;
  std::vector<std::pair<StringRef, StringRef>> pairs; // a missing path and the nearest spare one
  std::vector<Problem> problems;
  size_t comparisons = 0;
  BoundWeights bound;
};

} // namespace

std::string hashOf(ArrayRef<uint8_t> bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes);
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, true, 16);
}

/// "[2,3]"
static std::string shapeText(ArrayRef<int64_t> shape) {
  return describe(ElementType::f32, shape).substr(3);
}

/// The name in the file, where that is not the path: " (its 'bert.fc.weight')".
static std::string inFile(StringRef path, const Candidate &candidate) {
  return path == candidate.tensor->name ? std::string()
                                        : " (its " + quote(candidate.tensor->name) + ")";
}

static StringRef nameOf(Type dtype) {
  return *llvm::find_if(dtypeNames(),
                        [&](StringRef name) { return dtypeOf(name, dtype.getContext()) == dtype; });
}

/// The nearest name costs the product of the lengths: in large files the first ones tell enough.
std::optional<StringRef> Binder::nearestOf(StringRef name, ArrayRef<StringRef> names) {
  constexpr size_t kMaxComparisons = 300'000;
  comparisons += names.size();
  if (comparisons > kMaxComparisons)
    return std::nullopt;
  if (auto near = nearest(name, names))
    return near;
  // One in another folder.
  for (StringRef other : names)
    if (other.ends_with(("." + name).str()) || name.ends_with(("." + other).str()))
      return other;
  return std::nullopt;
}

static std::string question(std::optional<StringRef> name) {
  return name ? "; did you mean " + quote(*name) + "?" : std::string();
}

void Binder::collectParameters() {
  for (const auto &[name, layer] : model.layers) {
    hasErroneousLayer |= !layer.kind;
    for (const Parameter &parameter : layer.weights) {
      parameters.insert({parameter.path, &parameter});
      owned.push_back(parameter.path);
    }
  }
}

/// A later clause's file stands before an earlier one's; within a clause, two files may not hold
/// the same path.
void Binder::collectCandidates() {
  for (const OpenedClause &clause : clauses)
    for (const WeightFile &file : clause.files) {
      fileNames += (fileNames.empty() ? "" : ", ") + quote(file.path());
      for (const StoredTensor &tensor : file.tensors()) {
        std::string path = pathOf(tensor.name, clause.rules);
        auto [entry, isNew] = candidates.insert({path, {&clause, &file, &tensor}});
        Candidate &other = entry->second;
        if (isNew)
          continue;
        if (other.clause == &clause)
          problems.push_back({Problem::extra, clause.loc,
                              "weight " + quote(path) + " is held twice: by " +
                                  quote(other.file->path()) + inFile(path, other) + " and " +
                                  quote(file.path()) + inFile(path, {&clause, &file, &tensor}) +
                                  "; expected it once in the files of a clause"});
        else
          other = {&clause, &file, &tensor};
      }
    }
}

void Binder::collectTies() {
  for (const OpenedClause &clause : clauses)
    for (const TextPair &tie : clause.rules.ties) {
      bool isKnown = true;
      for (const QuotedText *side : {&tie.to, &tie.from}) {
        if (parameters.contains(side->value))
          continue;
        isKnown = false;
        if (!hasErroneousLayer)
          diagnostics.error(side->loc)
              << "'tie' names " << quote(side->value) << ", which is no weight of the model"
              << didYouMean(side->value, owned);
      }
      if (!isKnown)
        continue;
      if (!ties.try_emplace(tie.to.value, tie.from.value, &tie).second) {
        diagnostics.error(tie.to.loc)
            << "weight " << quote(tie.to.value) << " is tied twice; expected one 'tie' for it";
        continue;
      }
      // Follow the chain: it must not come back.
      for (auto next = ties.find(tie.from.value); next != ties.end();
           next = ties.find(next->second.first))
        if (next->second.first == tie.to.value || tie.from.value == tie.to.value) {
          diagnostics.error(tie.to.loc)
              << "weight " << quote(tie.to.value) << " is tied to itself; expected another weight";
          ties.erase(tie.to.value);
          break;
        }
    }
}

const Parameter *Binder::tiedTo(const Parameter &parameter) const {
  const Parameter *target = nullptr;
  for (auto tie = ties.find(parameter.path); tie != ties.end(); tie = ties.find(tie->second.first))
    target = parameters.lookup(tie->second.first);
  return target;
}

bool Binder::isTransposed(const Candidate &candidate, const Parameter &parameter) const {
  return candidate.tensor->shape.size() == 2 &&
         llvm::any_of(candidate.clause->rules.transposes,
                      [&](const QuotedText &glob) { return fits(glob.value, parameter.path); });
}

void Binder::readBytes(const Candidate &candidate, const Parameter &parameter,
                       BoundWeight &weight) {
  auto data = candidate.file->data(*candidate.tensor);
  if (!data) {
    diagnostics.error(candidate.clause->loc) << llvm::toString(data.takeError());
    return;
  }
  if (withHashes)
    weight.hash = hashOf(data->bytes);
  weight.magnitudes = unusualMagnitudes(weight.dtype, data->bytes);
  if (uint64_t count = countNaN(candidate.tensor->type, data->bytes))
    diagnostics.warning(parameter.loc) << "weight " << quote(parameter.path) << " holds " << count
                                       << (count == 1 ? " NaN" : " NaNs") << " among its "
                                       << candidate.tensor->bytes / sizeOf(candidate.tensor->type)
                                       << " numbers in " << quote(candidate.file->path());
}

void Binder::bind(const Parameter &parameter) {
  auto found = candidates.find(parameter.path);
  if (found == candidates.end()) {
    auto near = nearestOf(parameter.path, spare);
    problems.push_back({Problem::missing, parameter.loc,
                        "weight " + quote(parameter.path) + " " + shapeText(parameter.shape) +
                            " is not in " + fileNames + question(near)});
    missing.push_back(parameter.path);
    if (near)
      pairs.push_back({parameter.path, *near});
    return;
  }
  Candidate &candidate = found->second;
  const StoredTensor &tensor = *candidate.tensor;
  std::string what = "weight " + quote(parameter.path) + " is " +
                     describe(tensor.type, tensor.shape) + " in " + quote(candidate.file->path()) +
                     inFile(parameter.path, candidate);
  SmallVector<int64_t> shape(tensor.shape.begin(), tensor.shape.end()), reversed = shape;
  std::reverse(reversed.begin(), reversed.end());
  bool transposed = isTransposed(candidate, parameter);
  if (transposed)
    std::swap(shape, reversed);
  bool isGood = true;
  if (ArrayRef<int64_t>(shape) != ArrayRef<int64_t>(parameter.shape)) {
    isGood = false;
    std::string hint;
    if (shape.size() == 2 && ArrayRef<int64_t>(reversed) == ArrayRef<int64_t>(parameter.shape))
      hint = transposed ? "; it is stored [out,in]: take it out of 'transpose'"
                        : "; it is stored [in,out]: add 'transpose \"" + parameter.path +
                              "\"' to the weights clause";
    problems.push_back({Problem::unfit, parameter.loc,
                        what + (transposed ? ", which 'transpose' makes " + shapeText(shape) : "") +
                            "; the layer needs " + shapeText(parameter.shape) + hint});
  }
  Type dtype = dtypeOf(nameOf(tensor.type), context);
  // A layer computes in what its weights are; a Parameter with a dtype means just that one.
  bool isDeclared = static_cast<bool>(parameter.dtype);
  if (!dtype || (isDeclared ? dtype != parameter.dtype
                            : !isa<FloatType>(dtype) || dtype.getIntOrFloatBitWidth() < 16)) {
    isGood = false;
    problems.push_back(
        {Problem::unfit, parameter.loc,
         "weight " + quote(parameter.path) + " has the dtype " + nameOf(tensor.type).str() +
             " in " + quote(candidate.file->path()) + inFile(parameter.path, candidate) +
             "; expected " +
             (isDeclared ? nameOf(parameter.dtype).str() : "f64, f32, f16 or bf16")});
  }
  if (!isGood)
    return;
  BoundWeight &weight = bound[parameter.path];
  weight.path = parameter.path;
  weight.dtype = dtype;
  weight.shape.assign(tensor.shape.begin(), tensor.shape.end());
  weight.isTransposed = transposed;
  weight.file = candidate.file->path();
  weight.source = tensor.name;
  weight.offset = tensor.offset;
  readBytes(candidate, parameter, weight);
}

void Binder::bindTied(const Parameter &parameter, const Parameter &target) {
  const TextPair &tie = *ties.lookup(parameter.path).second;
  if (parameter.shape != target.shape) {
    diagnostics.error(tie.to.loc) << "'tie' gives weight " << quote(parameter.path) << " "
                                  << shapeText(parameter.shape) << " the weight "
                                  << quote(target.path) << " " << shapeText(target.shape)
                                  << "; expected weights of one shape";
    return;
  }
  auto weight = bound.find(target.path);
  if (weight == bound.end())
    return; // reported
  BoundWeight copy = weight->second;
  bound[parameter.path] = copy;
  // Many files hold tied weights twice.
  auto own = candidates.find(parameter.path), other = candidates.find(target.path);
  if (own == candidates.end() || other == candidates.end())
    return;
  auto ownBytes = own->second.file->data(*own->second.tensor),
       otherBytes = other->second.file->data(*other->second.tensor);
  if (ownBytes && otherBytes && ownBytes->bytes != otherBytes->bytes)
    diagnostics.error(tie.to.loc) << "'tie' gives weight " << quote(parameter.path)
                                  << " the weight " << quote(target.path) << ", but " << fileNames
                                  << " holds other numbers for it; remove the 'tie'";
  for (auto *bytes : {&ownBytes, &otherBytes})
    if (!*bytes)
      diagnostics.error(tie.to.loc) << llvm::toString(bytes->takeError());
}

void Binder::noteExtras() {
  // What a layer with errors would own is not known.
  if (hasErroneousLayer)
    return;
  for (StringRef path : spare) {
    const Candidate &candidate = candidates.find(path.str())->second;
    StringRef name = candidate.tensor->name;
    // A name near one that is there is no slip.
    std::string hint = question(nearestOf(path, missing));
    if (hint.empty())
      hint = "; allow_extra \"" + name.str() + "\" in the weights clause leaves it out";
    problems.push_back({Problem::extra, candidate.clause->loc,
                        quote(candidate.file->path()) + " holds " + quote(name) + " " +
                            describe(candidate.tensor->type, candidate.tensor->shape) +
                            (path == name ? "" : ", in the model " + quote(path)) +
                            ", which no layer owns" + hint});
  }
}

/// Rules that fit nothing are slips.
void Binder::warnOfIdleRules() {
  for (const OpenedClause &clause : clauses) {
    auto anyName = [&](auto holds) {
      return llvm::any_of(clause.files, [&](const WeightFile &file) {
        return llvm::any_of(file.tensors(), holds);
      });
    };
    for (const QuotedText &prefix : clause.rules.prefixes)
      if (!anyName([&](const StoredTensor &tensor) {
            return StringRef(tensor.name).starts_with(prefix.value);
          }))
        diagnostics.warning(prefix.loc)
            << "no name in " << fileNames << " begins with " << quote(prefix.value);
    for (const TextPair &rename : clause.rules.renames)
      if (!anyName([&](const StoredTensor &tensor) {
            return renamed(tensor.name, rename.from.value, rename.to.value) != tensor.name;
          }) &&
          clause.rules.renames.size() == 1)
        diagnostics.warning(rename.from.loc)
            << "no name in " << fileNames << " has the part " << quote(rename.from.value);
    for (const QuotedText &glob : clause.rules.transposes)
      if (llvm::none_of(parameters, [&](const auto &entry) {
            return entry.second->shape.size() == 2 && fits(glob.value, entry.first);
          }))
        diagnostics.warning(glob.loc)
            << "'transpose' fits no weight of two dims: " << quote(glob.value);
  }
}

/// One error for each problem where they can all be seen; else one for each kind, which lists them.
void Binder::report() {
  std::string guess = missing.empty() ? std::string() : guessRule(missing, spare, pairs);
  auto attachGuess = [&](InFlightDiagnostic &error) {
    if (!guess.empty())
      error.attachNote(diagnostics.translate(clauses.front().loc)) << guess;
    guess.clear();
  };
  if (problems.size() + diagnostics.errorCount() < Diagnostics::kMaxErrors) {
    for (const Problem &problem : problems) {
      auto error = diagnostics.error(problem.loc);
      error << problem.message;
      if (problem.kind == Problem::missing)
        attachGuess(error);
    }
    return;
  }
  for (auto [kind, what] : {std::pair(Problem::missing, " weights are missing:"),
                            std::pair(Problem::unfit, " weights do not fit their layers:"),
                            std::pair(Problem::extra, " tensors are left over:")}) {
    std::string list;
    size_t count = 0;
    for (const Problem &problem : problems)
      if (problem.kind == kind) {
        list += "\n  " + problem.message;
        ++count;
      }
    if (count == 0)
      continue;
    auto error = diagnostics.error(clauses.front().loc);
    error << count << what << list;
    if (kind == Problem::missing)
      attachGuess(error);
  }
}

BoundWeights Binder::run() {
  collectParameters();
  collectCandidates();
  collectTies();
  llvm::StringSet<> trainingState(llvm::from_range, model.trainingState);
  for (const auto &[path, candidate] : candidates) {
    auto isAllowed = [&](const QuotedText &glob) {
      return fits(glob.value, path) || fits(glob.value, candidate.tensor->name);
    };
    if (!parameters.contains(path) && !trainingState.contains(path) &&
        llvm::none_of(candidate.clause->rules.extras, isAllowed))
      spare.push_back(path);
  }
  for (const auto &[path, parameter] : parameters)
    if (!ties.contains(path))
      bind(*parameter);
  for (const auto &[path, parameter] : parameters)
    if (const Parameter *target = tiedTo(*parameter))
      bindTied(*parameter, *target);
  noteExtras();
  report();
  if (!diagnostics.hasErrors())
    warnOfIdleRules();
  return std::move(bound);
}

BoundWeights bindWeights(const Model &model, ArrayRef<OpenedClause> clauses,
                         Diagnostics &diagnostics, MLIRContext *context, bool withHashes) {
  return Binder(model, clauses, diagnostics, context, withHashes).run();
}

} // namespace dlc::frontend
