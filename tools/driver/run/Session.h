//===- Session.h - A model on a device, with its inputs and outputs -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by `run`, `bench`, `compare` and `verify`, on the C API alone. Problems are reported as
// they occur; the ExitCode says which kind.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_RUN_SESSION_H
#define DLC_TOOLS_DRIVER_RUN_SESSION_H

#include "tools/driver/base/DeviceOptions.h"
#include "tools/driver/run/Tensors.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dlc {

class Session {
public:
  ~Session();
  /// Loads the file and prepares it for the device.
  int open(const std::string &path, const DeviceOptions &options, bool profile = false);
  /// Takes the dtypes and dims of all inputs from the `--input` texts and the files that they name.
  /// An input that none names is an error, or random where `fillMissing`, its symbolic dims at
  /// their smallest.
  int setInputs(const std::vector<std::string> &texts, bool fillMissing);
  /// The first dim of each input is the steps of a stream, one run for each; that of the outputs
  /// will be, too. What has neither file nor dims of its own is the same for all. To be called
  /// after setInputs.
  int setSteps();
  /// States are zero in each step, and not in the first alone.
  void resetInEachStep() { resetsStates = true; }
  /// The random numbers of the first run, of each step where states are zero in each, are the first
  /// of this seed.
  void drawFrom(int64_t first) { seed = first; }
  /// Binds the shapes and makes room for the outputs.
  int bind();
  /// Reads or makes the data of the inputs, whose shapes fit: bind() has said so.
  int fillInputs();
  int run();
  /// After the last run: gives outputs whose sizes the data say their real dims.
  int cutOutputs();

  dlc_module *getModule() const { return module; }
  dlc_context *getContext() const { return context; }
  const std::vector<std::string> &outputNames() const { return outputs.names; }
  HostTensor &output(size_t index) { return outputs.tensors[index]; }
  /// Position of the output `name`; of the only one where the name is empty. -1, after an error,
  /// where there is none.
  int findOutput(const std::string &name) const;

private:
  struct Values {
    std::vector<std::string> names;
    std::vector<dlc_value_info> infos;
    std::vector<HostTensor> tensors;
    std::vector<dlc_tensor> views;
  };
  static int find(const Values &values, const std::string &name, const char *what);
  int setInput(const std::string &text, std::vector<bool> &given);
  int failSteps(size_t output) const;
  void tellDevice(const DeviceOptions &options);
  void tellRemarks();

  dlc_module *module = nullptr;
  dlc_context *context = nullptr;
  Values inputs, outputs;
  /// The tensor itself, or its part for a step.
  dlc_tensor viewOf(HostTensor &tensor, int64_t step) const;

  std::vector<TensorSpec> specs; // of the inputs
  int64_t steps = 1;
  bool isStepped = false, resetsStates = false;
  std::optional<int64_t> seed;
  bool tells = false; // remarks are for this user
  std::string told;   // remarks so far
};

/// Loads the file, and prepares it for the device with all that the options say. The caller frees
/// both, also after an error. An ExitCode, reported unless it is kOk.
int openProgram(const std::string &path, const DeviceOptions &options, bool profile,
                dlc_module *&module, dlc_context *&context);
/// Reports the runtime's last error; its status as an ExitCode.
int failRuntime(dlc_status status);
/// Reports that there is no room for the input or output (`what`) `name`; kDevice.
int failMemory(const char *what, const std::string &name, const HostTensor &tensor);
/// Sets the dims of output `index` under the last bind and makes room for it, unless only the run
/// tells how large it is: then its view leaves it to the context. An ExitCode, reported.
int makeRoom(dlc_context *context, size_t index, const std::string &name, HostTensor &output);
/// After a run: gives the output its real dims, and the data that the context has kept.
int takeOutput(dlc_context *context, size_t index, const std::string &name, HostTensor &output);
/// "f32[N,1,28,28] (N = 1..1024)".
std::string describeValue(const dlc_value_info &info);
/// Points the runtime at the emulated CUDA beside this executable; false where it is not built,
/// with a sentence in `problem`.
bool useEmulator(std::string &problem);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_SESSION_H
