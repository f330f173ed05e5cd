"""faults.py STEP RESULT COMMAND...: runs the command, with the emulated driver's call 0, STEP, 2 *
STEP ... failing with RESULT, until a run makes fewer calls. Each run ends with a status of dlc's
and a message, or goes on as if nothing had been where only a graph, a name or cuBLASLt failed."""
import os
import re
import subprocess
import sys

step, result, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
problems, failed, endured, call = [], 0, 0, 0
while True:
    environment = dict(os.environ, DLC_EMU_FAULT=f"{call}:{result}")
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    planted = re.search(r"planted: call \d+, ([\w ]+), returns", run.stderr)
    if not planted:
        if run.returncode:
            problems.append(f"without a fault: exit status {run.returncode}: {run.stderr}")
        break
    name = planted.group(1)
    if run.returncode == 5 and re.search(r"^error: .{20,}", run.stderr, re.M):
        failed += 1
    elif run.returncode == 0 and re.search(
            "Graph|Capture|capturing|DeviceGetName|MemGetInfo|MemHostAlloc|cublasLt", name):
        endured += 1
    else:
        problems.append(f"call {call}, {name}: exit status {run.returncode}: {run.stderr}")
    call += step
print(f"{failed} failed as they must, {endured} went on, {len(problems)} wrong")
print("\n".join(problems[:5]))
sys.exit(bool(problems))
