//===- Session.cpp - A package on a device -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/python/Session.h"
#include "runtime/python/Failure.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

namespace nb = nanobind;
using namespace dlc;
using namespace dlc::python;

/// The session's context, for one thread. Waits without the GIL.
class Session::Turn {
public:
  explicit Turn(Session &session) : session(session) {
    if (!session.turn.try_lock()) {
      // An allocation of Python may run anything, another call of this model too.
      if (session.inTurn == std::this_thread::get_id())
        raise(DLC_USAGE, "the model was called while this thread runs it already");
      nb::gil_scoped_release released;
      session.turn.lock();
    }
    session.inTurn = std::this_thread::get_id();
    if (!session.context) {
      end();
      raise(DLC_USAGE, "the model is closed");
    }
  }
  ~Turn() { end(); }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

private:
  void end() {
    session.inTurn = std::thread::id();
    session.turn.unlock();
  }
  Session &session;
};

/// Hands progress to Python; the first exception there ends the calls, until it is thrown.
struct Session::Progress {
  nb::object call;
  std::exception_ptr raised;

  static void tell(void *data, size_t done, size_t total) {
    auto *self = static_cast<Progress *>(data);
    nb::gil_scoped_acquire acquired;
    try {
      if (!self->raised)
        self->call(done, total);
    } catch (...) {
      self->raised = std::current_exception();
    }
  }
};

void Session::throwRaised() {
  if (told && told->raised)
    std::rethrow_exception(std::exchange(told->raised, nullptr));
}

Session::Session(std::shared_ptr<Package> owner, dlc_context_options options,
                 const std::string &device, nb::object progress)
    : package(std::move(owner)) {
  place.isCuda = device.starts_with("cuda");
  place.ordinal = device.starts_with("cuda:") ? std::atoi(device.c_str() + 5) : 0;
  place.stream = options.stream;
  for (const Port &port : package->outputs())
    isCounted |= port.isSymbolic();
  if (!progress.is_none()) {
    told = std::make_unique<Progress>(Progress{std::move(progress), nullptr});
    options.progress = Progress::tell;
    options.progress_data = told.get();
  }
  dlc_status status;
  {
    nb::gil_scoped_release released;
    status = dlc_context_create(package->module(), &options, &context);
  }
  if (told && told->raised)
    dlc_context_free(context);
  throwRaised();
  check(status);
}

Session::~Session() { dlc_context_free(context); }

//===- Shapes ---------------------------------------------------------------------------------===//

/// Rank and dims of all arrays.
static std::vector<int64_t> flattened(const std::vector<dlc_tensor> &tensors) {
  std::vector<int64_t> flat;
  flat.reserve(tensors.size() * (DLC_MAX_RANK + 2));
  for (const dlc_tensor &tensor : tensors) {
    flat.push_back(tensor.dtype);
    flat.push_back(tensor.rank);
    flat.insert(flat.end(), tensor.dims, tensor.dims + tensor.rank);
  }
  return flat;
}

void Session::bind(const std::vector<dlc_tensor> &inputs) {
  std::vector<int64_t> dims = flattened(inputs);
  if (isBound && dims == inputDims)
    return;
  isBound = false;
  dlc_status status;
  {
    nb::gil_scoped_release released; // it may allocate much
    status = dlc_context_bind(context, inputs.data(), inputs.size());
  }
  throwRaised();
  check(status);
  size_t count = package->outputs().size();
  outputDims.assign(count * DLC_MAX_RANK, 0);
  for (size_t i = 0; i < count; ++i) {
    int rank;
    check(dlc_context_output_dims(context, i, &rank, outputDims.data() + i * DLC_MAX_RANK));
  }
  inputDims = std::move(dims);
  isBound = true;
}

bool Session::isLeftToContext(size_t output) const {
  const int64_t *dims = dimsOf(output);
  return std::any_of(dims, dims + package->outputs()[output].info.rank,
                     [](int64_t dim) { return dim < 0; });
}

static nb::tuple tupleOf(const int64_t *dims, int rank) {
  nb::list made;
  for (int dim = 0; dim < rank; ++dim)
    made.append(dims[dim]);
  return nb::tuple(made);
}

nb::list Session::prepare(const nb::list &shapes) {
  std::vector<dlc_tensor> tensors(nb::len(shapes));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<Port> &inputs = package->inputs();
    tensors[i].struct_size = sizeof(dlc_tensor);
    tensors[i].dtype = i < inputs.size() ? inputs[i].info.dtype : DLC_F32;
    nb::object shape = shapes[i];
    size_t rank = nb::len(shape);
    if (rank > DLC_MAX_RANK)
      raise(DLC_USAGE, "input " + std::to_string(i) + ": expected 0 to " +
                           std::to_string(DLC_MAX_RANK) + " dims, got " + std::to_string(rank));
    tensors[i].rank = static_cast<int>(rank);
    for (size_t dim = 0; dim < rank; ++dim)
      tensors[i].dims[dim] = nb::cast<int64_t>(shape[dim]);
  }
  Turn guard(*this);
  bind(tensors);
  nb::list found;
  for (size_t i = 0; i < package->outputs().size(); ++i)
    found.append(tupleOf(dimsOf(i), package->outputs()[i].info.rank));
  return found;
}

/// The output's memory is the context's.
static void leave(const Port &port, dlc_tensor &out) {
  out = {};
  out.struct_size = sizeof(dlc_tensor);
  out.dtype = port.info.dtype;
}

//===- Runs -----------------------------------------------------------------------------------===//

std::vector<nb::object> Session::execute(const std::vector<nb::object> &inputs,
                                         const std::vector<nb::object> &outputs) {
  std::vector<Array> read(inputs.size());
  std::vector<dlc_tensor> in(inputs.size()), out(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    read[i].read(inputs[i], package->inputs()[i], Access::read, place, in[i]);
  std::vector<Result> results(outputs.size());

  Turn guard(*this);
  bind(in);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].is_valid())
      results[i].take(outputs[i], package->outputs()[i], place, out[i]);
    else if (isLeftToContext(i))
      leave(package->outputs()[i], out[i]);
    else
      results[i].allocate(read.empty() ? nullptr : read.data(), package->outputs()[i], dimsOf(i),
                          place, out[i]);
  dlc_status status;
  {
    nb::gil_scoped_release released;
    status = dlc_context_run(context, in.data(), in.size(), out.data(), out.size());
  }
  check(status);

  std::vector<nb::object> made(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    int64_t counted[DLC_MAX_RANK];
    const int64_t *dims = dimsOf(i);
    if (isCounted) {
      int rank;
      check(dlc_context_output_dims(context, i, &rank, counted));
      dims = counted;
    }
    if (out[i].bytes || outputs[i].is_valid() || !isLeftToContext(i)) {
      made[i] = results[i].finish(package->outputs()[i], out[i], dims);
      continue;
    }
    const void *data = nullptr;
    size_t bytes = 0;
    check(dlc_context_output_data(context, i, &data, &bytes));
    made[i] = results[i].keep(read.empty() ? nullptr : read.data(), package->outputs()[i], dims,
                              place, data);
  }
  return made;
}

static std::string namesOf(const std::vector<Port> &ports) {
  std::string names;
  for (const Port &port : ports)
    names += (names.empty() ? "" : ", ") + std::string(port.info.name);
  return names.empty() ? "none" : names;
}

/// Raises the error of a name in `given` that no port has, if there is one.
static void checkNames(const std::vector<Port> &ports, const char *kind, const nb::dict &given) {
  for (auto [name, array] : given) {
    bool isKnown = std::any_of(ports.begin(), ports.end(),
                               [&](const Port &port) { return port.name.equal(name); });
    if (!isKnown)
      raise(DLC_USAGE, "the model has no " + std::string(kind) + " '" +
                           nb::cast<std::string>(nb::str(name)) + "'; it has " + namesOf(ports));
  }
}

/// The array of a port in `given`; null where there is none.
static nb::object find(const nb::dict &given, const Port &port) {
  PyObject *found = PyDict_GetItemWithError(given.ptr(), port.name.ptr()); // borrowed
  if (!found && PyErr_Occurred())
    raiseSet();
  return nb::borrow(found);
}

static void checkGiven(const std::vector<Port> &ports, size_t index, const nb::object &array) {
  if (!array)
    raise(DLC_USAGE, ports[index].text() + " is missing; the model's inputs are " + namesOf(ports));
}

nb::object Session::call(const nb::tuple &positional, const nb::dict &named) {
  const std::vector<Port> &ports = package->inputs();
  size_t first = nb::len(positional);
  if (first > ports.size())
    raise(DLC_USAGE, "expected " + std::to_string(ports.size()) + " inputs (" + namesOf(ports) +
                         "), got " + std::to_string(first));
  std::vector<nb::object> inputs(ports.size());
  for (size_t i = 0; i < first; ++i)
    inputs[i] = positional[i];
  size_t found = 0;
  for (size_t i = first; i < ports.size(); ++i) {
    inputs[i] = find(named, ports[i]);
    checkGiven(ports, i, inputs[i]);
    ++found;
  }
  if (found != nb::len(named)) {
    checkNames(ports, "input", named);
    raise(DLC_USAGE,
          "an input is given both by its place and by its name; the model's inputs are " +
              namesOf(ports));
  }
  std::vector<nb::object> made =
      execute(inputs, std::vector<nb::object>(package->outputs().size()));
  if (made.size() == 1)
    return made[0];
  nb::list all;
  for (nb::object &result : made)
    all.append(result);
  return nb::tuple(all);
}

nb::dict Session::run(const nb::dict &inputs, const nb::object &outputs) {
  const std::vector<Port> &ins = package->inputs(), &outs = package->outputs();
  checkNames(ins, "input", inputs);
  std::vector<nb::object> given(ins.size()), taken(outs.size());
  for (size_t i = 0; i < ins.size(); ++i) {
    given[i] = find(inputs, ins[i]);
    checkGiven(ins, i, given[i]);
  }
  if (!outputs.is_none()) {
    nb::dict arrays = nb::cast<nb::dict>(outputs);
    checkNames(outs, "output", arrays);
    for (size_t i = 0; i < outs.size(); ++i)
      taken[i] = find(arrays, outs[i]);
  }
  std::vector<nb::object> made = execute(given, taken);
  nb::dict results;
  for (size_t i = 0; i < outs.size(); ++i)
    results[outs[i].name] = made[i];
  return results;
}

//===- What a context says --------------------------------------------------------------------===//

void Session::reset() {
  Turn guard(*this);
  nb::gil_scoped_release released;
  dlc_context_reset_states(context);
  isBound = false; // states may now have other dims
}

nb::object Session::readState(size_t index) {
  Turn guard(*this);
  const Port &port = package->states()[index];
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  check(dlc_context_state_dims(context, index, &rank, dims));
  Result result;
  dlc_tensor out;
  result.allocate(nullptr, port, dims, place, out);
  dlc_status status;
  {
    nb::gil_scoped_release released;
    status = dlc_context_read_state(context, index, out.data, out.bytes);
  }
  check(status);
  return result.finish(port, out, dims);
}

void Session::writeState(size_t index, nb::handle array) {
  Turn guard(*this);
  const Port &port = package->states()[index];
  Array held;
  dlc_tensor tensor;
  held.read(array, port, Access::read, Place{}, tensor);
  if (tensor.dtype != port.info.dtype)
    raise(DLC_USAGE, port.text() + " is " + dlc_dtype_name(port.info.dtype) + ", got " +
                         dlc_dtype_name(tensor.dtype));
  dlc_status status;
  {
    nb::gil_scoped_release released;
    status = dlc_context_write_state(context, index, tensor.dims, tensor.rank, tensor.data,
                                     tensor.bytes);
  }
  check(status);
}

void Session::seed(int64_t seed) {
  Turn guard(*this);
  dlc_status status;
  {
    nb::gil_scoped_release released;
    status = dlc_context_seed(context, seed);
  }
  check(status);
}

int64_t Session::cacheLength() {
  Turn guard(*this);
  return dlc_context_cache_length(context);
}

void Session::close() {
  dlc_context *old;
  {
    if (!context)
      return;
    Turn guard(*this);
    old = context;
    context = nullptr;
    isBound = false;
  }
  nb::gil_scoped_release released;
  dlc_context_free(old);
}

std::string Session::device() {
  Turn guard(*this);
  return dlc_context_device(context);
}

std::string Session::remarks() {
  Turn guard(*this);
  return dlc_context_remarks(context);
}

nb::list Session::profile() {
  Turn guard(*this);
  const dlc_profile_entry *entries = nullptr;
  size_t count = 0;
  check(dlc_context_profile(context, &entries, &count));
  nb::list made;
  for (const dlc_profile_entry *entry = entries; entry != entries + count; ++entry)
    made.append(nb::make_tuple(entry->kernel, entry->kind, entry->microseconds, entry->flops,
                               entry->bytes, entry->start_microseconds));
  return made;
}

double Session::deviceTime() {
  Turn guard(*this);
  double microseconds = 0;
  check(dlc_context_device_time(context, &microseconds));
  return microseconds;
}

nb::dict Session::memory() {
  Turn guard(*this);
  dlc_memory_info info = {};
  info.struct_size = sizeof(info);
  check(dlc_context_memory(context, &info));
  nb::dict made;
  made["weights"] = info.weight_bytes;
  made["persistent"] = info.persistent_bytes;
  made["arena"] = info.arena_bytes;
  made["scratch"] = info.scratch_bytes;
  made["states"] = info.state_bytes;
  return made;
}
