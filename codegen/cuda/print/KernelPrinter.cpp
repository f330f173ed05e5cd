//===- KernelPrinter.cpp - Functions and statements as CUDA C++ ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/print/KernelPrinter.h"

#include "runtime/schema/KernelAbi.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc::codegen::cpp;

namespace dlc::codegen {

/// Longer expressions get a name of their own.
static constexpr size_t kLongExpression = 72;

KernelPrinter::KernelPrinter(llvm::raw_ostream &os, unsigned indexBits)
    : os(os), indexBits(indexBits),
      expressions(indexBits, [this](Value value) { return textOf(value); }) {}

void KernelPrinter::error(Operation *op, const Twine &why) {
  if (!failed)
    op->emitError("cuda printer: ")
        << why << ", in kernel '" << cast<SymbolOpInterface>(function).getName() << "'";
  failed = true;
}

//===- Values ---------------------------------------------------------------------------------===//

Expr KernelPrinter::textOf(Value value) {
  if (auto it = named.find(value); it != named.end())
    return {it->second};
  if (auto it = pending.find(value); it != pending.end()) {
    Expr expr = it->second;
    pending.erase(it);
    return expr;
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    Type type = constant.getType();
    Attribute number = constant.getValue();
    auto splat = dyn_cast<SplatElementsAttr>(number);
    if (splat) {
      type = splat.getElementType();
      number = splat.getSplatValue<Attribute>();
    }
    if (auto expr = literal(number, type, indexBits, /*exactType=*/splat != nullptr)) {
      if (!splat)
        return *expr;
      std::string lanes = std::to_string(cast<VectorType>(constant.getType()).getDimSize(0));
      return {"dlc::splat<" + lanes + ">(" + expr->text + ")"};
    }
    error(op, "constant is neither a number nor a vector of one number");
    return {"?"};
  }
  error(op ? op : function, "value has no text");
  return {"?"};
}

std::string KernelPrinter::role(Value value, StringRef otherwise) {
  if (Operation *op = value.getDefiningOp())
    if (auto attribute = op->getAttrOfType<StringAttr>("dlc.role"))
      return attribute.str();
  return otherwise.str();
}

static StringRef defaultRole(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<gpu::ThreadIdOp>(op)  ? "thread"
         : isa_and_nonnull<gpu::BlockIdOp>(op) ? "block"
         : isa<VectorType>(value.getType())    ? "lanes"
         : isa<MemRefType>(value.getType())    ? "buffer"
         : value.getType().isIndex()           ? "i"
         : value.getType().isInteger(1)        ? "test"
                                               : "v";
}

std::string KernelPrinter::typeOf(Value value, Operation *user) {
  if (auto name = typeName(value.getType(), indexBits))
    return *name;
  std::string text;
  llvm::raw_string_ostream(text) << value.getType();
  error(user, "no C++ type for " + text);
  return "?";
}

void KernelPrinter::define(Value value, const Expr &expr) {
  // A buffer that is one of several is read alone.
  auto memref = dyn_cast<MemRefType>(value.getType());
  auto element = memref ? typeName(memref.getElementType(), indexBits) : std::nullopt;
  std::string type = element ? *element + " *" : typeOf(value, value.getDefiningOp()) + " ";
  std::string name = names.fresh(role(value, defaultRole(value)));
  line() << "const " << type << name << " = " << expr.text << ";\n";
  named[value] = name;
}

/// True where `inner` runs at most once for each run of `outer`, which holds it: only ifs lie
/// between.
static bool runsOnce(Block *outer, Block *inner) {
  while (inner != outer) {
    auto parent = dyn_cast_or_null<scf::IfOp>(inner->getParentOp());
    if (!parent)
      return false;
    inner = parent->getBlock();
  }
  return true;
}

bool KernelPrinter::mayInline(Operation *op, const Expr &expr) const {
  if (inChoice)
    return true;
  Value value = op->getResult(0);
  if (!value.hasOneUse() || op->hasAttr("dlc.role") ||
      isa<gpu::ShuffleOp, gpu::ThreadIdOp, gpu::BlockIdOp>(op) ||
      isa<VectorType>(value.getType()) || expr.text.size() > kLongExpression)
    return false;
  Operation *user = *value.getUsers().begin();
  if (user->getBlock() != op->getBlock())
    return !expr.reads && runsOnce(op->getBlock(), user->getBlock());
  if (auto loop = dyn_cast<scf::ForOp>(user)) // bound and step are evaluated again and again
    return !expr.reads || (value != loop.getUpperBound() && value != loop.getStep());
  return true;
}

void KernelPrinter::flushReads() {
  SmallVector<Value> waiting;
  for (auto &[value, expr] : pending)
    if (expr.reads)
      waiting.push_back(value);
  for (Value value : waiting)
    define(value, textOf(value));
}

//===- Statements -----------------------------------------------------------------------------===//

void KernelPrinter::block(Block &block, ArrayRef<std::string> targets) {
  SmallVector<std::string> outerTargets(targets);
  std::swap(outerTargets, yieldTargets);
  size_t mark = names.open();
  ++depth;
  for (Operation &op : block) {
    if (failed)
      break;
    statement(&op);
  }
  --depth;
  names.close(mark);
  std::swap(outerTargets, yieldTargets);
}

static bool writesOrMeets(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<memref::StoreOp, vector::StoreOp, gpu::BarrierOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether something that is printed needs the value: what is used only by values that nobody uses
/// is not.
static bool isUsed(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return !Expressions::isExpression(user) || isa<gpu::ShuffleOp>(user) ||
           isUsed(user->getResult(0));
  });
}

void KernelPrinter::expression(Operation *op) {
  bool handlesVectors =
      isa<vector::LoadOp, vector::ExtractOp, vector::FromElementsOp, vector::BroadcastOp>(op);
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (isa<VectorType>(type) && !handlesVectors)
      return error(op, "no arithmetic on vectors (" + op->getName().getStringRef() +
                           "): work on their elements");
  for (Value other : op->getResults().drop_front())
    if (!other.use_empty())
      return error(op, "only the first result of " + op->getName().getStringRef() + " has a text");
  Value value = op->getResult(0);
  if (!isa<gpu::ShuffleOp>(op) && !isUsed(value))
    return;
  auto expr = expressions.build(op);
  if (!expr)
    return error(op, "no text for this " + op->getName().getStringRef());
  if (mayInline(op, *expr)) {
    pending[value] = *expr;
    return;
  }
  define(value, *expr);
}

void KernelPrinter::statement(Operation *op) {
  if (Expressions::isExpression(op))
    return expression(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case<arith::ConstantOp, ub::PoisonOp>([](auto) {})
      .Case<memref::StoreOp>([&](memref::StoreOp store) {
        std::string target = expressions.element(store.getMemRef(), store.getIndices()).text;
        std::string value = textOf(store.getValueToStore()).text;
        flushReads();
        line() << target << " = " << value << ";\n";
      })
      .Case<vector::StoreOp>([&](vector::StoreOp store) {
        std::string target = expressions.pointer(store.getBase(), store.getIndices()).text;
        std::string value = textOf(store.getValueToStore()).text;
        flushReads();
        line() << "dlc::store(" << target << ", " << value << ");\n";
      })
      .Case<vector::InsertOp>([&](vector::InsertOp insert) {
        // The loop's vector in place: the schedule inserts into what the loop carries and yields
        // the result.
        auto carried = dyn_cast<BlockArgument>(insert.getDest());
        if (!carried || !carried.hasOneUse() || insert.getNumIndices() != 1 ||
            !insert->hasOneUse() || !isa<scf::YieldOp>(*insert->user_begin()))
          return error(insert,
                       "vector.insert only into a vector that a loop carries, yielded at once");
        OpFoldResult position = insert.getMixedPosition().front();
        std::string lane =
            isa<Value>(position)
                ? textOf(cast<Value>(position)).text
                : std::to_string(cast<IntegerAttr>(cast<Attribute>(position)).getInt());
        std::string value = textOf(insert.getValueToStore()).text;
        line() << named[carried] << "[" << lane << "] = " << value << ";\n";
        std::string name = named[carried]; // a copy: the insertion may move it
        named[insert] = name;
      })
      .Case<gpu::BarrierOp>([&](gpu::BarrierOp barrier) {
        flushReads();
        // The whole grid meets where the barrier names the argument that has its counter.
        if (auto counter = barrier->getAttrOfType<IntegerAttr>("dlc.grid_counter"))
          line() << "dlc::grid_barrier(reinterpret_cast<u32 *>("
                 << named[function->getRegion(0).getArgument(counter.getInt())] << ") + "
                 << abi::kGridCounter << ");\n";
        else
          line() << (barrier->hasAttr("dlc.cluster") ? "dlc::cluster_barrier();\n"
                                                     : "dlc::barrier();\n");
      })
      .Case<memref::AllocaOp>([&](memref::AllocaOp alloca) { localArray(alloca); })
      .Case<scf::ForOp>([&](scf::ForOp loopOp) { loop(loopOp); })
      .Case<scf::IfOp>([&](scf::IfOp ifOp) { branch(ifOp); })
      .Case<scf::YieldOp>([&](scf::YieldOp yield) { assign(yield.getResults(), yieldTargets); })
      .Case<dlk::CallOp>([&](dlk::CallOp callOp) { call(callOp); })
      .Case<dlk::GiveOp>([&](dlk::GiveOp give) {
        if (give.getValue())
          line() << "return " << textOf(give.getValue()).text << ";\n";
      })
      .Case<func::ReturnOp>([&](func::ReturnOp ret) {
        line() << "return " << textOf(ret.getOperand(0)).text << ";\n";
      })
      .Case<gpu::ReturnOp>([](auto) {})
      .Default([&](Operation *other) {
        error(other, "no text for " + other->getName().getStringRef());
      });
}

void KernelPrinter::localArray(Operation *alloca) {
  auto type = cast<MemRefType>(alloca->getResult(0).getType());
  auto element = typeName(type.getElementType(), indexBits);
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() || !element)
    return error(alloca, "a local array has a static shape and a scalar element type");
  std::string name = names.fresh(role(alloca->getResult(0), "local"));
  line() << *element << " " << name;
  for (int64_t size : type.getShape())
    os << "[" << size << "]";
  os << ";\n";
  named[alloca->getResult(0)] = name;
}

/// Assigns all targets at once, as a yield does: a target that a later value still reads waits.
void KernelPrinter::assign(ValueRange values, ArrayRef<std::string> targets) {
  SmallVector<std::pair<std::string, std::string>> moves;
  for (auto [target, value] : llvm::zip_equal(targets, values))
    if (std::string text = textOf(value).text; text != target)
      moves.push_back({target, text});
  SmallVector<std::string> late;
  for (auto [position, move] : llvm::enumerate(moves)) {
    auto &[target, text] = move;
    bool isReadLater = llvm::any_of(llvm::drop_begin(moves, position + 1),
                                    [&](auto &later) { return mentions(later.second, target); });
    if (!isReadLater) {
      line() << target << " = " << text << ";\n";
      continue;
    }
    std::string next = names.fresh(target + "_next");
    line() << "const auto " << next << " = " << text << ";\n";
    late.push_back(target + " = " + next);
  }
  for (const std::string &move : late)
    line() << move << ";\n";
}

void KernelPrinter::loop(scf::ForOp op) {
  auto roles = op->getAttrOfType<ArrayAttr>("dlc.roles");
  if (roles && roles.size() != op.getBody()->getNumArguments())
    roles = {};
  auto roleOf = [&](unsigned position, StringRef otherwise) {
    return roles ? cast<StringAttr>(roles[position]).str() : otherwise.str();
  };
  std::string from = textOf(op.getLowerBound()).text;
  std::string to = paren(textOf(op.getUpperBound()), Prec::shift);
  std::string step = textOf(op.getStep()).text;
  SmallVector<std::string> inits;
  for (Value init : op.getInitArgs())
    inits.push_back(isa_and_nonnull<ub::PoisonOp>(init.getDefiningOp()) ? "" : textOf(init).text);
  if (writesOrMeets(op))
    flushReads();
  SmallVector<std::string> targets;
  for (auto [position, argument] : llvm::enumerate(op.getRegionIterArgs())) {
    std::string name = names.fresh(roleOf(position + 1, "acc"));
    line() << typeOf(argument, op) << " " << name;
    os << (inits[position].empty() ? "" : " = " + inits[position]) << ";\n";
    // One at a time: the second insertion may move what the first gave.
    named[argument] = name;
    named[op.getResult(position)] = name;
    targets.push_back(name);
  }
  if (Attribute unroll = op->getAttr("dlc.unroll")) {
    line() << "#pragma unroll";
    if (auto times = dyn_cast<IntegerAttr>(unroll))
      os << " " << times.getInt();
    os << "\n";
  }
  size_t mark = names.open();
  std::string variable = names.fresh(roleOf(0, "i"));
  named[op.getInductionVar()] = variable;
  line() << "for (" << *typeName(op.getInductionVar().getType(), indexBits) << " " << variable
         << " = " << from << "; " << variable << " < " << to << "; "
         << (step == "1" ? "++" + variable : variable + " += " + step) << ") {\n";
  block(*op.getBody(), targets);
  line() << "}\n";
  names.close(mark);
}

/// True where the ops of `block` can all stand inside one expression.
static bool isOneExpression(Block &block) {
  return llvm::all_of(block, [](Operation &op) {
    if (isa<scf::YieldOp, arith::ConstantOp>(op))
      return true;
    if (auto inner = dyn_cast<scf::IfOp>(op))
      return inner.getNumResults() == 1 && inner->hasOneUse() &&
             isOneExpression(*inner.thenBlock()) && isOneExpression(*inner.elseBlock());
    return Expressions::isExpression(&op) && !isa<gpu::ShuffleOp, vector::LoadOp>(op) &&
           op.getResult(0).hasOneUse() && !op.hasAttr("dlc.role");
  });
}

std::optional<Expr> KernelPrinter::choice(scf::IfOp op) {
  if (op.getNumResults() != 1 || isa<VectorType>(op.getResult(0).getType()) ||
      !isOneExpression(*op.thenBlock()) || !isOneExpression(*op.elseBlock()))
    return std::nullopt;
  Expr condition = textOf(op.getCondition());
  bool outer = std::exchange(inChoice, true);
  auto value = [&](Block &block) {
    for (Operation &inner : block.without_terminator())
      statement(&inner);
    return textOf(block.getTerminator()->getOperand(0));
  };
  Expr a = value(*op.thenBlock()), b = value(*op.elseBlock());
  inChoice = outer;
  return Expr{paren(condition, Prec::logicalOr) + " ? " + paren(a, Prec::logicalOr) + " : " +
                  b.text,
              Prec::ternary, condition.reads || a.reads || b.reads};
}

void KernelPrinter::branch(scf::IfOp op) {
  if (auto expr = choice(op)) {
    if (mayInline(op, *expr))
      pending[op.getResult(0)] = *expr;
    else
      define(op.getResult(0), *expr);
    return;
  }
  std::string condition = textOf(op.getCondition()).text;
  if (writesOrMeets(op))
    flushReads();
  SmallVector<std::string> targets;
  for (Value result : op.getResults()) {
    std::string name = names.fresh(role(result, defaultRole(result)));
    line() << typeOf(result, op) << " " << name << ";\n";
    named[result] = name;
    targets.push_back(name);
  }
  line() << "if (" << condition << ") {\n";
  block(*op.thenBlock(), targets);
  if (op.elseBlock() && !(op.elseBlock()->without_terminator().empty() && targets.empty())) {
    line() << "} else {\n";
    block(*op.elseBlock(), targets);
  }
  line() << "}\n";
}

} // namespace dlc::codegen
