"""Committed lists of what is known of samples: a reason, then the entries and the messages for
which it holds. Each line has to be met by a sample of its entry, so that the lists only shrink."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))


def normalized(message):
    """`message` without what differs from sample to sample: numbers, but for an expected 0."""
    message = re.sub(r"expected -?0\.0\b", "expected zero", message)
    message = re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", " ".join(message.split()))
    return re.sub(r"\[(#,? ?)*\]", "[..]", message)


class Listed:
    """A file of lines "ENTRY: a part of the normalized message" below lines "REASON:"."""

    def __init__(self, name):
        self.name, self.lines, self.met, reason = name, [], set(), None
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            for line in map(str.rstrip, file):
                if not line or line.startswith("#"):
                    continue
                if line.endswith(":"):
                    reason = line[:-1]
                elif reason is None or ": " not in line:
                    raise ValueError(
                        f"{name}: expected a reason before '{line}', and ENTRY: MESSAGE")
                else:
                    entry, _, part = line.partition(": ")
                    self.lines.append((entry, part, reason))

    def reason(self, entry, message):
        """The reason for which the message is expected of the entry, or None."""
        message = normalized(message)
        for line in self.lines:
            if line[0] in (entry, "*") and line[1] in message:
                self.met.add(line)
                return line[2]
        return None

    def not_met(self, entries):
        """Lines about `entries`, all samples of which have run, that no sample met."""
        return [line for line in self.lines if line[0] in entries and line not in self.met]
