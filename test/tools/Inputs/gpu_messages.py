"""What dlc tells of a GPU, here the emulated one: bench, doctor, and a terminal while kernels are
compiled."""
import os
import re
import subprocess
import sys

from weight_cases import Suite, dlc

sys.path.append(
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "compiler", "Inputs"))
import terminal  # noqa: E402

TINY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny.dl")
suite = Suite(sys.argv[1])
expect = suite.expect
expect("a compile", dlc("compile", TINY, "-q", "--target", "cuda", "-o", "tiny.bin").stderr, "")

# Numbers made 0: those of a machine are no text.
text = dlc("bench", "tiny.bin", "--device", "cuda-emu", "--duration", "0", "--warmup", "0",
           "--profile").stdout.splitlines()
zeros = [re.sub(r"\b\d[\d.]*(e[+-]\d+)?", "0", line) for line in text]
expect("the GPU's time", zeros[7],
       "GPU time: min = 0 ms, max = 0 ms, mean = 0 ms, median = 0 ms, percentile(0%) = 0 ms, by its "
       "events, copies not counted")
expect("the columns of a profile", text[9],
       " Time %   Time (ms)  Calls            FLOP           Bytes    GFLOP/s      GB/s   "
       "% f32   % mem  Kernel                       Kind        Model lines")
expect("a device of no known speed", text[-1], "What this device can do at most is not known")


def doctor(status, lines, **variables):
    run = subprocess.run(["dlc", "doctor", "--device", "cuda-emu"], capture_output=True, text=True,
                         env={**os.environ, "DLC_CACHE_DIR": "", **variables})
    got = [re.sub(r"/\S*/", ".../", line) for line in run.stdout.splitlines()]
    own = ("dlc ", "Compiler", "Processor", "CPU code")
    expect(f"doctor {variables}",
           (run.returncode, [line for line in got if not line.startswith(own)]), (status, lines))


LIBRARIES = [
    "CUDA driver   .../libdlc_cuda_emu.so, CUDA 13.0",
    "NVRTC         .../libdlc_nvrtc_emu.so, 13.0",
    "  compiles for sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100f, sm_100a, sm_120, sm_120f, sm_120a",
    "cuBLASLt      .../libdlc_cublaslt_emu.so, 13.0.2", "Kernel cache  turned off (DLC_CACHE_DIR)"
]
doctor(0, [
    *LIBRARIES, "GPU 0         dlc CUDA emulator (sm_90a), sm_90", "Device        cuda-emu: usable"
])
doctor(5, [
    *LIBRARIES, "GPU           none found by the driver (is CUDA_VISIBLE_DEVICES set?)",
    "Device        cuda-emu: unusable"
], DLC_EMU_FAULT="cuDeviceGetCount:0:101")
doctor(5, ["CUDA driver   unusable: CUDA is not usable: no NVIDIA GPU is visible (is CUDA_VISIBLE_DEVICES set, or the device not "
           "passed to this container?): cuInit: CUDA_ERROR_NO_DEVICE (no device)", *LIBRARIES[1:],
           "Device        cuda-emu: unusable"], DLC_EMU_FAULT="cuInit:0:100")

# A terminal shows how far the compiler of kernels is; the line is gone when it is done.
status, shown = terminal.run(
    ["dlc", "run", "tiny.bin", "--device", "cuda-emu", "--input", "random"])
expect("a terminal", (status, shown),
       (0, b"\r\x1b[Kdlc: compiling kernels, 0 of 1 ...\r\x1b[K\r\x1b[K"))
suite.finish()
