//===- PtxIdentity.cpp - What a kernel is known by in the ledger ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/nvrtc/PtxIdentity.h"

#include "runtime/core/Text.h"
#include "runtime/core/package/Sha256.h"

#include <cstring>
#include <map>
#include <set>

using namespace dlc;
using namespace dlc::nvrtc;
using cuda::NvrtcProgram;
using cuda::NvrtcResult;

static bool beginsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
static bool isInName(char c) { return beginsName(c) || (c >= '0' && c <= '9'); }

/// Calls `visit` with each piece of `ptx` in turn, and whether it is a name, a directive or an
/// instruction (all made of letters and full stops) or anything else. Comments are passed over; a
/// run of spaces is one, and a line ends where it has something.
template <class Visitor> static void forEachPiece(std::string_view ptx, Visitor visit) {
  for (size_t at = 0; at < ptx.size();) {
    std::string_view rest = ptx.substr(at);
    if (rest.starts_with("//")) {
      at = std::min(ptx.find('\n', at), ptx.size());
    } else if (rest.front() == '"') {
      size_t end = std::min(ptx.find('"', at + 1), ptx.size() - 1) + 1;
      visit(ptx.substr(at, end - at), false);
      at = end;
    } else if (beginsName(rest.front())) {
      size_t end = at;
      while (end < ptx.size() && isInName(ptx[end]))
        ++end;
      visit(ptx.substr(at, end - at), true);
      at = end;
    } else {
      visit(rest.substr(0, 1), false);
      ++at;
    }
  }
}

/// `name` without the "_param_3" that NVRTC adds to a function's name.
static std::string_view withoutParameter(std::string_view name) {
  size_t at = name.rfind("_param_");
  bool isNumbered = at != std::string_view::npos && at + 7 < name.size() &&
                    name.find_first_not_of("0123456789", at + 7) == std::string_view::npos;
  return isNumbered ? name.substr(0, at) : name;
}

/// The names of kernels: what stands after ".entry". Those of other functions and of variables are
/// mangled ones.
static std::set<std::string_view> kernelNames(std::string_view ptx) {
  std::set<std::string_view> names;
  std::string_view before;
  forEachPiece(ptx, [&](std::string_view piece, bool isName) {
    if (!isName)
      return;
    if (before == "entry")
      names.insert(piece);
    before = piece;
  });
  return names;
}

std::string nvrtc::canonicalPtx(std::string_view ptx) {
  std::set<std::string_view> kernels = kernelNames(ptx);
  std::map<std::string_view, std::string> renamed;
  std::string out;
  forEachPiece(ptx, [&](std::string_view piece, bool isName) {
    std::string_view name = withoutParameter(piece);
    if (isName && (kernels.contains(name) || name.starts_with("_Z"))) {
      std::string &own = renamed[name];
      if (own.empty())
        own = rt::text("$", renamed.size() - 1);
      out += own;
      out += piece.substr(name.size());
    } else if (piece == " " || piece == "\t" || piece == "\r") {
      if (!out.empty() && out.back() != ' ' && out.back() != '\n')
        out += ' ';
    } else if (piece == "\n") {
      if (!out.empty() && out.back() == ' ')
        out.pop_back();
      if (!out.empty() && out.back() != '\n')
        out += '\n';
    } else if (piece != std::string_view("\0", 1)) {
      out += piece;
    }
  });
  return out;
}

std::string nvrtc::versionIn(std::string_view ptx) {
  size_t at = ptx.find(", V");
  if (at == std::string_view::npos)
    return "";
  size_t end = ptx.find_first_not_of("0123456789.", at + 3);
  return std::string(ptx.substr(at + 3, end == std::string_view::npos ? end : end - at - 3));
}

PtxIdentity nvrtc::identify(const cuda::Nvrtc &nvrtc, const cuda::KernelText &text,
                            const std::string &architecture) {
  // "compute_" instead of "sm_": the same PTX, without the time of ptxas.
  std::string target = "--gpu-architecture=compute_" + architecture.substr(std::strlen("sm_"));
  const char *options[] = {target.c_str(), "--std=c++17", "--fmad=false", "-default-device",
                           "--modify-stack-limit=false"};
  NvrtcProgram program = nullptr;
  NvrtcResult result =
      nvrtc.createProgram(&program, text.source, (text.name + ".cu").c_str(),
                          int(text.headers.size()), text.headers.data(), text.headerNames.data());
  if (result == NvrtcResult::Success)
    result = nvrtc.compileProgram(program, int(std::size(options)), options);
  size_t bytes = 0;
  std::string ptx;
  PtxIdentity identity;
  if (result == NvrtcResult::Success)
    result = nvrtc.getPtxSize(program, &bytes);
  if (result == NvrtcResult::Success) {
    ptx.resize(bytes);
    result = nvrtc.getPtx(program, ptx.data());
    ptx.resize(std::strlen(ptx.c_str()));
  }
  if (result != NvrtcResult::Success) {
    identity.problem = nvrtc.getErrorString(result);
    std::string log;
    if (nvrtc.getProgramLogSize(program, &bytes) == NvrtcResult::Success && bytes > 1) {
      log.resize(bytes);
      nvrtc.getProgramLog(program, log.data());
      identity.problem += rt::text(": ", log.c_str());
    }
  } else {
    identity.sha256 = rt::hexadecimal(rt::sha256(canonicalPtx(ptx)));
    identity.nvrtc = versionIn(ptx);
  }
  nvrtc.destroyProgram(&program);
  return identity;
}
