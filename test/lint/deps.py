"""Who may include whom. The table is the architecture: a change here is a change of the design."""
import os
import re

# Folder -> what its files may include from this repository.
MAY_INCLUDE = {
    "ir": ("ir/",),
    "frontend": ("frontend/", "ir/"),
    "passes": ("passes/", "ir/"),
    "codegen": ("codegen/", "ir/", "runtime/schema/"),
    "runtime": ("runtime/", "dlc/", "ir/machine/GpuModel.h"),
    "tools": ("tools/", "frontend/", "passes/", "codegen/", "runtime/", "ir/", "dlc/"),
}
OURS = tuple(folder + "/" for folder in MAY_INCLUDE) + ("dlc/", "test/")
# What starts at once, and what reads files of strangers: no MLIR, and of ours these folders alone.
WITHOUT_MLIR = {
    "frontend/arrays/": ("frontend/arrays/", "frontend/SiblingFile.h", "frontend/Spelling.h"),
    "tools/driver/base/": (),
    "tools/driver/cli/": (),
    "tools/driver/measure/": (),
    "tools/driver/run/": (),
    "tools/driver/text/": (),
    "tools/driver/text/model/": (),
}
COMMANDS = tuple(f for f in WITHOUT_MLIR if f.startswith("tools/")) + (
    "frontend/arrays/", "frontend/Spelling.h", "passes/Phases.def", "passes/compress/Schemes.h",
    "passes/precision/Precision.h", "runtime/", "dlc/")
# The folders of tools/driver from the lowest layer to the highest: each may include itself and
# those before it.
DRIVER_LAYERS = ("base run text measure inspect weights source compiler calibrate precision "
                 "compress tune train cli linked lsp").split()
# Device headers are handed to NVRTC with nothing else: they include only each other, by name.
DEVICE = "codegen/cuda/device/"
# Each folder is one CMake target of this name; links follow the same table.
TARGETS = {
    "dlc_" + folder: folder + "/" for folder in ("ir", "frontend", "passes", "codegen", "runtime")
}
TARGETS["dlc_driver"] = "tools/"

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def check(tree):
    problems = []
    for path in tree.paths:
        folder = path.split("/")[0]
        if folder not in MAY_INCLUDE:
            continue
        if path.endswith((".cpp", ".h", ".c", ".cuh", ".td", ".def")):
            problems += includes(path, folder, tree.text(path))
        elif path.endswith("CMakeLists.txt"):
            problems += links(path, folder, tree.text(path))
    return problems


def includes(path, folder, text):
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        where = f"{path}:{text.count(chr(10), 0, match.start(2)) + 1}"
        if path.startswith(DEVICE) and path.endswith(".cuh"):
            if quote == "<" or "/" in header:
                yield f"{where}: a device header includes only its neighbours by name, not '{header}'"
            continue
        if ".." in header.split("/"):
            yield f"{where}: '{header}': name the header from the root of the repository"
        elif header.startswith(OURS) and not header.startswith(MAY_INCLUDE[folder]):
            allowed = ", ".join(MAY_INCLUDE[folder])
            yield f"{where}: {folder} may not include '{header}' (it may include {allowed}): the two meet in ir/"
        elif problem := without_mlir(path, header) or against_layers(path, header):
            yield f"{where}: {problem}"
        elif folder == "runtime" and header.startswith(
            ("mlir/", "llvm/", "mlir-c/", "llvm-c/", "clang/")):
            yield f"{where}: runtime/ must build without LLVM, so it may not include '{header}'"
        elif quote == '"' and "/" not in header and not header.endswith(
            (".inc", "_generated.h", ".def")):
            yield f"{where}: '{header}': name the header from the root of the repository"


def without_mlir(path, header):
    """Why a file of WITHOUT_MLIR may not include the header, or None."""
    folder = os.path.dirname(path) + "/"
    if folder not in WITHOUT_MLIR:
        return None
    allowed = WITHOUT_MLIR[folder] or COMMANDS
    if header.startswith("mlir/"):
        return f"{folder} must start without MLIR, so it may not include '{header}'"
    if header.startswith(OURS) and not header.startswith(allowed):
        return f"{folder} may not include '{header}' (it may include {', '.join(allowed)}): it is linked without MLIR"
    return None


def against_layers(path, header):
    """Why a file of tools/driver may not include the header of another folder there, or None."""
    if not (path.startswith("tools/driver/") and header.startswith("tools/driver/")):
        return None
    folder, of = path.split("/")[2], header.split("/")[2]
    if folder not in DRIVER_LAYERS or of not in DRIVER_LAYERS:
        return f"tools/driver/{folder if folder not in DRIVER_LAYERS else of} has no place in DRIVER_LAYERS"
    if DRIVER_LAYERS.index(of) <= DRIVER_LAYERS.index(folder):
        return None
    return f"tools/driver/{folder} may not include '{header}', which lies in a higher layer"


def links(path, folder, text):
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0]
        for target in re.findall(r"\bdlc_\w+", line):
            needs = TARGETS.get(target)
            if needs and not needs.startswith(MAY_INCLUDE[folder]):
                yield f"{path}:{number}: {folder} may not link {target}"


CLEAN = {
    "ir/dl/A.h": '#include "ir/scalar/Scalar.h"\n#include "mlir/IR/Value.h"\n#include <vector>\n#include "ir/dl/A.h.inc"\n',
    "codegen/B.cpp": '#include "ir/dl/A.h"\n#include "runtime/schema/KernelAbi.h"\n',
    "codegen/cuda/device/a.cuh": '#include "b.cuh"\n',
    "tools/driver/compiler/D.cpp": '#include "passes/Passes.h"\n#include "frontend/Frontend.h"\n#include "dlc/runtime.h"\n',
    "tools/driver/cli/E.cpp": '#include "tools/driver/run/Session.h"\n#include "frontend/arrays/NpyFile.h"\n',
    "passes/CMakeLists.txt": "target_link_libraries(dlc_passes PRIVATE dlc_ir)  # never dlc_codegen\n",
}
PLANTED = [
    ({"frontend/F.cpp": '#include "passes/Passes.h"\n'},
     "frontend may not include 'passes/Passes.h'"),
    ({"passes/P.cpp": '\n  #  include "codegen/X.h"\n'}, "passes/P.cpp:2: passes may not include"),
    ({"codegen/C.cpp": '#include "runtime/core/package/Module.h"\n'},
     "codegen may not include 'runtime/core/package/Module.h'"),
    ({"ir/I.cpp": '#include <frontend/Frontend.h>\n'}, "ir may not include"),
    ({"runtime/core/M.cpp": '#include "llvm/ADT/StringRef.h"\n'}, "must build without LLVM"),
    ({"runtime/core/M.cpp": '#include "ir/dl/DLOps.h"\n'}, "runtime may not include"),
    ({"ir/I.cpp": '#include "../passes/P.h"\n'}, "from the root"),
    ({"ir/I.cpp": '#include "Near.h"\n'}, "from the root"),
    ({"tools/driver/cli/E.cpp": '#include "mlir/IR/Value.h"\n'}, "must start without MLIR"),
    ({"tools/driver/run/E.cpp": '#include "tools/driver/source/Import.h"\n'},
     "it is linked without MLIR"),
    ({"tools/driver/compiler/E.cpp": '#include "tools/driver/tune/Tune.h"\n'},
     "which lies in a higher layer"),
    ({"tools/driver/new/E.cpp": '#include "tools/driver/base/Output.h"\n'},
     "has no place in DRIVER_LAYERS"),
    ({"frontend/arrays/A.h": '#include "frontend/weights/WeightRules.h"\n'},
     "it is linked without MLIR"),
    ({"codegen/cuda/device/k.cuh": "#include <cuda_fp16.h>\n"}, "only its neighbours"),
    ({"frontend/CMakeLists.txt": "target_link_libraries(dlc_frontend dlc_passes)\n"},
     "may not link dlc_passes"),
]
