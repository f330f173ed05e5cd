"""Stops the compile of digits.dl in this folder after each phase but the last one, which
`dlc help compile` names, goes on from what it printed, and compares the result with direct.bin.
"""
import pathlib
import re
import subprocess


def dlc(*arguments, command=("compile",)):
    return subprocess.run(["dlc", *command, *arguments], check=True, capture_output=True,
                          text=True).stdout


told = dlc(command=("help", "compile"))
phases = re.search(r"^Phases:\n(.*)$", told, re.M)[1].split()
direct = pathlib.Path("direct.bin").read_bytes()
for phase in phases[:-1]:
    dlc("digits.dl", "-q", f"--compile-to={phase}", "--locations", "-o", "stopped.mlir")
    dlc("stopped.mlir", "-q", f"--compile-from={phase}", "-o", "resumed.bin")
    print(
        f"{phase}: {'the same' if pathlib.Path('resumed.bin').read_bytes() == direct else 'other'} bytes"
    )
