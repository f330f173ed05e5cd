"""Prints the tests that a change of the files in argv asks for; "PATH:LINE" names a line."""
import os
import sys

TEST = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TEST, "changed"))
from selection import select  # noqa: E402

changes = {}
for argument in sys.argv[1:]:
    path, _, line = argument.partition(":")
    changes.setdefault(path, set()).update([int(line)] if line else [])
print(*select(os.path.dirname(TEST), changes).lines(), sep="\n")
