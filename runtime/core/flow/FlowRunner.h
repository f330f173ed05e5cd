//===- FlowRunner.h - Runs the flow of a module on a device ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each segment has an executor of its own; all work in one stream, with one pool of memory for the
// tensors between them.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_FLOW_FLOWRUNNER_H
#define DLC_RUNTIME_CORE_FLOW_FLOWRUNNER_H

#include "runtime/core/flow/FlowPlan.h"
#include "runtime/core/flow/SegmentRunner.h"

#include <chrono>

namespace dlc::rt {

class FlowRunner : public Executor {
public:
  using Open =
      std::function<Expected<std::unique_ptr<Executor>>(Module &, const ExecutorOptions &)>;
  /// `open` makes the executor of a segment.
  static Expected<std::unique_ptr<Executor>> create(Module &module, const Open &open,
                                                    const ExecutorOptions &options);
  ~FlowRunner() override;

  Status bind(const Binding &binding) override;
  /// Runs the flow; `outputs` are not written: results() are the outputs.
  Status run(const std::vector<Argument> &inputs, const std::vector<Argument> &outputs) override;
  /// The outputs of the last run. None is the caller's memory.
  const std::vector<TensorRef> &results() const { return outputTensors; }
  void dropResults() { outputTensors.clear(); }
  /// The states become those of the last run, whose results have been taken.
  void commitStates();
  void resetStates() override { states.clear(); }
  Expected<Argument> stateMemory(size_t index) override {
    DLC_TRY(placeStates());
    return index < states.size() ? Expected<Argument>(states[index]->place)
                                 : Expected<Argument>(noBoundStates());
  }

  bool takesDeviceMemory() const override { return device0().takesDeviceMemory(); }
  bool keepsLine() const override { return device0().keepsLine(); }
  Status copy(Argument target, Argument source, size_t bytes) override {
    return device0().copy(target, source, bytes);
  }
  /// Waits for the calls and copies in the stream.
  Status synchronize() override;
  const std::string &device() const override { return device0().device(); }
  dlc_memory_info memory() const override;
  std::string remarks() const override;
  double deviceMicroseconds() const override { return deviceTime; }

private:
  using Clock = std::chrono::steady_clock;
  /// The values of a slot from each step of a loop, along a new first axis.
  struct Stack {
    uint32_t from, to; ///< slots
    TensorRef tensor;  ///< with room for `room` steps; null before the first
    int64_t room = 0;
    Dims empty = {}; ///< dims of a step's value if there was no step
  };

  FlowRunner(Module &module, const ExecutorOptions &options);
  Executor &device0() const { return const_cast<Executor &>(segments.front()->device()); }
  schema::DType typeOf(uint32_t slot) const { return flow.slots()->Get(slot)->dtype(); }

  Status start(const std::vector<Argument> &inputs);
  Status placeStates();
  Status finish();
  Expected<TensorRef> owned(const TensorRef &tensor);

  Status runBlock(uint32_t index);
  Status runStep(const PlannedStep &step);
  Status call(const schema::CallStep &step);
  Status read(const schema::ReadStep &step);
  Status branch(const schema::IfStep &step);
  Status loop(const PlannedStep &planned, const schema::LoopStep &step);
  Status pass(const schema::LoopStep &step, int64_t number, std::vector<TensorRef> &carried,
              std::vector<Stack> &stacks, bool &goesOn);
  Status gather(Stack &stack, int64_t number);
  Status endStack(Stack &stack, int64_t count);
  /// The dims of what a loop without a step would gather.
  std::vector<Dims> dimsOfNone(const schema::LoopStep &step) const;
  Status numberIn(uint32_t slot, int64_t &value);
  Expected<TensorRef> scalar(int64_t value);
  Status readNumber(Tensor &tensor, uint32_t slot);
  Status checkTime() const;

  const schema::Module &table;
  const schema::Flow &flow;
  const Expressions &expressions;
  const ExecutorOptions options;
  std::vector<PlannedBlock> blocks;
  std::vector<std::unique_ptr<SegmentRunner>> segments;
  std::unique_ptr<TensorPool> pool; ///< of the first segment's device; all tensors below are its
  std::vector<Dims> inputDims, stateDims;
  std::vector<int64_t> symbols;
  std::vector<TensorRef> slots;
  std::vector<int64_t> numbers;
  std::vector<TensorRef> states; ///< empty: all zero
  std::vector<TensorRef> nextStates, outputTensors;
  std::vector<TensorRef> callInputs, callOutputs; ///< of the current call
  std::vector<int64_t> callNumbers;
  Clock::time_point begin; ///< of the run
  double deviceTime = -1;
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_FLOW_FLOWRUNNER_H
