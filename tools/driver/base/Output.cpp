//===- Output.cpp - Standard output, messages, and files that are whole or absent ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Output.h"

#include "frontend/arrays/InputFiles.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {

/// Writes all of `bytes`; false with errno set where it could not.
static bool writeAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

static std::string noOutput(int number) {
  return std::string("cannot write to standard output: ") + strerror(number);
}

void reserveStandardFiles() {
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    // The lowest free number is this one; opened the wrong way round, so that its use fails as that
    // of a closed one.
    if (fcntl(file, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int finishOutput(std::string_view text, int code) {
  if (writeAll(STDOUT_FILENO, text))
    return code;
  if (errno == EPIPE) { // where a parent made us ignore SIGPIPE
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
  }
  return fail(kDevice, noOutput(errno));
}

void complain(std::string_view text) {
  std::string line(text);
  if (line.empty() || line.back() != '\n')
    line += '\n';
  (void)writeAll(STDERR_FILENO, line); // there is nobody else to tell
}

int fail(int code, std::string_view message) {
  complain("error: " + std::string(message));
  return code;
}

//===- Files ----------------------------------------------------------------------------------===//

/// The temporary file that exists now, for the signal handler. One at a time.
static char pendingPath[4096];
static volatile sig_atomic_t isPending = 0;

static void removePending(int number) {
  if (isPending)
    unlink(pendingPath);
  signal(number, SIG_DFL); // and die as the sender meant it
  raise(number);
}

/// Set by the first Ctrl-C.
static volatile std::sig_atomic_t wasAskedToStop = 0;

static void noteInterrupt(int number) {
  wasAskedToStop = 1;
  signal(number, SIG_DFL); // the second one ends the process
}

void stopWhenAsked() { signal(SIGINT, noteInterrupt); }

bool isAskedToStop() { return wasAskedToStop != 0; }

static void watchSignals() {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) == 0 &&
        (action.sa_handler == SIG_IGN || action.sa_handler == noteInterrupt))
      continue; // nohup, or a command that stops when it is asked to
    action = {};
    action.sa_handler = removePending;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
  signal(SIGXFSZ, SIG_IGN); // a limit on file sizes makes write() fail, which is reported
}

/// Where `path` leads through symlinks, also where the last one's target does not exist yet.
static fs::path resolve(const std::string &path) {
  fs::path place = path;
  std::error_code error;
  for (int hops = 0; hops < 40 && fs::is_symlink(fs::symlink_status(place, error)); ++hops) {
    fs::path target = fs::read_symlink(place, error);
    if (error)
      break;
    place = target.is_absolute() ? target : place.parent_path() / target;
  }
  return place;
}

static fs::path folderOf(const fs::path &place) {
  return place.has_parent_path() ? place.parent_path() : fs::path(".");
}

static std::string reason(const std::string &path, int number) {
  return "cannot write '" + path + "': " + strerror(number);
}

/// As `reason`; where there is too little room, how much is needed and how much there is.
static std::string reasonOf(const std::string &path, int number, const fs::path &folder,
                            size_t needed) {
  std::string text = reason(path, number), bytes = std::to_string(needed) + " bytes are needed, ";
  struct statvfs disk = {};
  struct rlimit limit = {};
  if (number == ENOSPC && statvfs(folder.c_str(), &disk) == 0)
    text += "; " + bytes + std::to_string(uint64_t{disk.f_bavail} * disk.f_frsize) +
            " are free in '" + folder.string() + "'";
  if (number == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    text +=
        "; " + bytes + "the process may write " + std::to_string(limit.rlim_cur) + " (ulimit -f)";
  return text;
}

/// Standard output by either of its names; its link leads to no path that could be renamed over.
static bool isStandardOutput(const std::string &path) {
  return path == "-" || path == "/dev/stdout";
}

/// Devices and pipes take bytes as they come; a rename would put a file in their place.
static bool isStreamAt(const fs::path &place) {
  std::error_code error;
  fs::file_status status = fs::status(place, error);
  return !error && fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

bool isStream(const std::string &path) {
  return isStandardOutput(path) || isStreamAt(resolve(path));
}

bool namesSameFile(const std::string &one, const std::string &other) {
  // Absolute, so that folders are followed through links also where the file does not exist.
  auto placeOf = [](const std::string &path) {
    std::error_code error;
    fs::path place = fs::absolute(resolve(path), error);
    fs::path real = fs::weakly_canonical(place, error);
    return error ? place.lexically_normal() : real;
  };
  return placeOf(one) == placeOf(other);
}

/// Empty where nothing speaks against writing `path`.
static std::string whyNotWritable(const std::string &path) {
  fs::path place = resolve(path);
  std::error_code error;
  if (fs::is_directory(place, error))
    return "cannot write '" + path + "': it is a directory; name a file in it";
  if (isStreamAt(place))
    return access(place.c_str(), W_OK) == 0 ? "" : reason(path, errno);
  fs::path folder = folderOf(place);
  if (!fs::is_directory(folder, error))
    return "cannot write '" + path + "': there is no folder '" + folder.string() + "'";
  if (access(folder.c_str(), W_OK) != 0 ||
      (fs::exists(place, error) && access(place.c_str(), W_OK) != 0))
    return reason(path, errno);
  return {};
}

int checkOutput(const std::string &path) {
  if (isStandardOutput(path))
    return kOk;
  if (auto input = frontend::inputFileAt(path))
    return fail(kUsage, "cannot write '" + path + "': " +
                            (*input == path ? "this command reads it"
                                            : "it is '" + *input + "', which this command reads") +
                            "; name another file for the output");
  std::string why = whyNotWritable(path);
  return why.empty() ? static_cast<int>(kOk) : fail(kDevice, why);
}

static int writeStream(const std::string &path, const fs::path &place, std::string_view bytes) {
  int file = open(place.c_str(), O_WRONLY);
  if (file < 0)
    return fail(kDevice, reason(path, errno));
  bool written = writeAll(file, bytes);
  int number = errno;
  close(file);
  return written ? static_cast<int>(kOk) : fail(kDevice, reason(path, number));
}

int writeFile(const std::string &path, std::string_view bytes) {
  if (isStandardOutput(path))
    return finishOutput(bytes);
  if (int code = checkOutput(path))
    return code;
  fs::path place = resolve(path);
  if (isStreamAt(place))
    return writeStream(path, place, bytes);

  std::string pending = place.string() + ".tmp" + std::to_string(getpid());
  if (pending.size() >= sizeof(pendingPath))
    return fail(kDevice, reason(path, ENAMETOOLONG));
  std::error_code error;
  auto mode = fs::exists(place, error)
                  ? static_cast<mode_t>(fs::status(place, error).permissions()) & 0777
                  : 0666;
  memcpy(pendingPath, pending.c_str(), pending.size() + 1);
  watchSignals();
  isPending = 1;
  int file = open(pending.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  bool done = file >= 0 && writeAll(file, bytes) && fsync(file) == 0;
  int number = done ? 0 : errno;
  if (file >= 0 && close(file) != 0 && done) {
    done = false;
    number = errno;
  }
  if (done && rename(pending.c_str(), place.c_str()) != 0) {
    done = false;
    number = errno;
  }
  if (!done && file >= 0)
    unlink(pending.c_str());
  isPending = 0;
  return done ? static_cast<int>(kOk)
              : fail(kDevice, reasonOf(path, number, folderOf(place), bytes.size()));
}

} // namespace dlc
