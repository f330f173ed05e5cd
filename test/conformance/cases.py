"""Counts test cases: each one passes, fails with a reason, or is left out with a reason; none is
forgotten."""
import collections
import contextlib
import traceback


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
