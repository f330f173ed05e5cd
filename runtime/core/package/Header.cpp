//===- Header.cpp - Is this a model.bin that this runtime reads? -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/Header.h"
#include "runtime/core/Text.h"
#include "runtime/core/package/Hash.h"

#include <flatbuffers/base.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

using namespace dlc::rt;
using namespace dlc::schema;
using namespace std::literals;

static Status refuse(std::string message) { return {DLC_INCOMPATIBLE, std::move(message)}; }

/// What the file is, by its first bytes, where it is not a model.bin; empty where that is unknown.
static std::string_view recognise(std::string_view head) {
  auto starts = [&](std::string_view magic) { return head.starts_with(magic); };
  if (starts("\x93NUMPY"))
    return "a NumPy array (.npy): pass it with --input NAME=@FILE.npy";
  if (starts("PK\x03\x04"))
    return "a zip archive (.npz, .pt or .zip): pass an .npz with --input; save a PyTorch "
           "checkpoint as .safetensors for a .dl model";
  if (starts("\x7f"
             "ELF"))
    return "an ELF program or library";
  if (starts("version https://git-lfs"))
    return "a Git LFS pointer: fetch the file itself with 'git lfs pull'";
  if (starts("<?xml") || starts("<net"))
    return "an OpenVINO or other XML file; dlc takes .dl models: 'dlc compile MODEL.dl -o "
           "model.bin'";
  if (starts("<!DOCTYPE") || starts("<!doctype") || starts("<html"))
    return "a web page, perhaps from a failed download";
  // safetensors: the length of a JSON header, then the header.
  if (head.size() > 9 && head[8] == '{' && head[7] == 0 && head[6] == 0)
    return "a safetensors file: name it in a .dl model with 'weights', then 'dlc compile MODEL.dl'";
  // ONNX (protobuf): field 1, the IR version, then a short field such as the producer.
  if (head.size() > 3 && head[0] == 0x08 && head[1] > 0 && head[1] < 32 &&
      (head[2] == 0x12 || head[2] == 0x1a || head[2] == 0x22 || head[2] == 0x3a || head[2] == 0x42))
    return "an ONNX model: compile it first with 'dlc compile MODEL.onnx -o model.bin'";
  if (starts("dl 1") || starts("model ") || starts("dim ") || head.find("\ndl 1\n") != head.npos)
    return "a .dl source file: compile it first with 'dlc compile MODEL.dl -o model.bin'";
  if (starts("module") || starts("#dl"))
    return "MLIR text: compile it first with 'dlc compile MODEL.mlir --compile-from=PHASE -o "
           "model.bin'";
  return {};
}

static Status notOurs(std::string_view head) {
  // A text-mode transfer changes the line ends in the magic and nothing before them.
  if (head.size() >= 5 && std::memcmp(head.data(), kMagic, 4) == 0)
    return refuse(
        "the first bytes of a model.bin were changed: the file was transferred as text, or is "
        "damaged; transfer it again in binary mode");
  std::string_view known = recognise(head);
  if (!known.empty())
    return refuse(text("expected a model.bin written by 'dlc compile', got ", known));
  return refuse("expected a model.bin written by 'dlc compile'; these bytes are none");
}

/// A runtime reads its own format and the one before.
static Status checkVersions(const ModuleHeader &header) {
  if (header.formatVersion > kFormatVersion)
    return refuse(text("the file has format ", header.formatVersion, ", this runtime (dlc ",
                       dlc_version(), ") reads up to ", kFormatVersion,
                       ": use a newer runtime, or compile the model again with this version"));
  constexpr uint32_t oldest = std::max<uint32_t>(kFormatVersion - 1, 1);
  if (header.formatVersion < oldest)
    return refuse(text("the file has format ", header.formatVersion, ", this runtime (dlc ",
                       dlc_version(), ") reads ", oldest, " and newer: compile the model again"));
  if (header.abiVersion != kAbiVersion)
    return refuse(text("the file's kernels use calling convention ", header.abiVersion,
                       ", this runtime (dlc ", dlc_version(), ") uses ", kAbiVersion,
                       ": compile the model again with this version"));
  return {};
}

Status dlc::rt::checkHeader(const uint8_t *data, size_t bytes) {
  std::string_view head(reinterpret_cast<const char *>(data), std::min<size_t>(bytes, 128));
  if (head.substr(0, 8) != std::string_view(reinterpret_cast<const char *>(kMagic), 8)) {
    if (bytes < 8 && std::memcmp(data, kMagic, bytes) == 0)
      return refuse(text("the file ends after ", bytes, " bytes: it was cut off; copy it again"));
    return notOurs(head);
  }
  if (bytes < sizeof(ModuleHeader))
    return refuse(text("the file ends after ", bytes,
                       " bytes, inside its header: it was cut off; copy it again"));

  ModuleHeader header;
  std::memcpy(&header, data, sizeof(header));
  // The header's layout up to the hash is fixed for all versions, so damage is told from another
  // version.
  if (Hash128{header.headerHash[0], header.headerHash[1]} !=
      hashBytes(data, offsetof(ModuleHeader, headerHash)))
    return refuse("the header is damaged (its hash does not match): copy the file again");
  DLC_TRY(checkVersions(header));
  if (std::any_of(std::begin(header.reserved), std::end(header.reserved),
                  [](uint8_t b) { return b; }))
    return refuse("the header is damaged (reserved bytes are not zero): copy the file again");
  if (header.fileBytes > bytes)
    return refuse(text("the file should have ", header.fileBytes, " bytes and has ", bytes,
                       ": it was cut off; copy it again"));
  if (header.fileBytes < bytes)
    return refuse(text("the file should have ", header.fileBytes, " bytes and has ", bytes,
                       ": something was appended; copy it again"));
  if (header.tableBytes == 0 || header.tableBytes > header.fileBytes - kTableOffset)
    return refuse(
        "the header is damaged (the table does not fit into the file): copy the file again");
  if (header.tableBytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return refuse(text("the table has ", header.tableBytes,
                       " bytes; expected less than 2 GiB: compile the model in parts"));
  if (Hash128{header.tableHash[0], header.tableHash[1]} !=
      hashBytes(data + kTableOffset, header.tableBytes))
    return refuse("the table is damaged (its hash does not match): copy the file again");
  return {};
}
