"""Counts test cases: each one passes, fails with a reason, or is left out with a reason; none is
forgotten."""
import collections
import contextlib
import os
import time
import traceback
import zlib

#: The seed of the samples of a run: DLC_SEED, by default the day. A long kind of test takes one in
#: N of its cases by a hash of their names, so that a red run can be repeated: runs of one day, and
#: runs with one seed, take the same cases at any commit. Seeds 0 to N - 1 take all of them.
SEED = int(os.environ.get("DLC_SEED") or time.time() // 86400)


def takes(name, parts, seed=SEED):
    """Whether a run takes the case; `parts` is how many runs take all."""
    return (zlib.crc32(name.encode()) + seed) % parts == 0


def split(names, parts, seed=SEED):
    """(cases of the run, how many are left out)"""
    taken = [name for name in names if takes(name, parts, seed)]
    return taken, len(names) - len(taken)


def one_of(name, choices, seed=SEED):
    """The choice that a run makes for the case; each comes in turn."""
    return choices[(zlib.crc32(name.encode()) + seed) % len(choices)]


class Failure(Exception):
    """A case's own finding; anything else that is raised is reported with its stack."""


class Cases:
    def __init__(self):
        self.passed = self.failed = 0
        self.left_out = collections.Counter()

    @contextlib.contextmanager
    def case(self, name):
        try:
            yield
            self.passed += 1
            print(f"ok {name}", flush=True)
        except Failure as failure:
            self.failed += 1
            print(f"FAILED {name}: {failure}", flush=True)
        except Exception:
            self.failed += 1
            print(f"FAILED {name}:\n{traceback.format_exc()}", flush=True)

    def leave_out(self, count, reason):
        self.left_out[reason] += count

    def finish(self):
        """Prints the counts that tools/scripts/test folds; the exit status."""
        for reason, count in self.left_out.items():
            print(f"{count} left out ({reason})")
        print(f"{self.passed} passed, {self.failed} failed")
        return int(self.failed > 0)
