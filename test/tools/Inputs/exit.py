"""exit.py CODE COMMAND...: runs the command, repeats what it says, and fails unless it exits with
CODE."""
import subprocess
import sys

run = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
sys.stdout.buffer.write(run.stdout)
if run.returncode != int(sys.argv[1]):
    sys.exit(f"exit status {run.returncode}, expected {sys.argv[1]}: {' '.join(sys.argv[2:])}")
