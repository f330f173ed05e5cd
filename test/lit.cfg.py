# lit configuration: test/<folder>/**.mlir and .dl, run with the tools of the build.
#
# In a RUN line: dlc, dlc-opt and every other tool of build/bin, FileCheck, not, count, split-file.
# %python runs Python with NumPy. %lib is the build's folder of libraries, the emulated CUDA among
# them. %examples is the examples folder, %scripts tools/scripts, %corpus the folder of other
# people's models (feature "corpus" where it exists).
import os
import sys

import lit.formats

config.name = "dlc"
# Shell tests run in lit's own shell: no dependency on the system's.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".dl", ".test"]
config.excludes = [
    "Inputs", "unit", "numeric", "conformance", "emulator", "fuzz", "bench", "lint", "package",
    "suites"
]
config.test_source_root = os.path.join(config.dlc_source, "test")
config.test_exec_root = os.path.join(config.dlc_build, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.dlc_build, "bin"), config.llvm_bin, config.environment["PATH"]]
)
config.environment[
    "FILECHECK_OPTS"] = "--dump-input-filter=annotation --allow-unused-prefixes=false"

corpus = os.environ.get("DLC_CORPUS", os.path.join(config.dlc_source, "..", "shared", "corpus"))
if os.path.isdir(corpus):
    config.available_features.add("corpus")
config.substitutions.append(("%corpus", corpus))
config.substitutions.append(("%python", os.environ.get("DLC_PYTHON", sys.executable)))
config.substitutions.append(("%lib", os.path.join(config.dlc_build, "lib")))
config.substitutions.append(("%scripts", os.path.join(config.dlc_source, "tools", "scripts")))
config.substitutions.append(("%examples", os.path.join(config.dlc_source, "examples")))
