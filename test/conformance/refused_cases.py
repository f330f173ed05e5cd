"""The ONNX cases that dlc refuses on purpose, or does not take yet: onnx_refused.txt, for the
runner and for docs/onnx.md."""


def parse(text):
    """{case: reason}: a line that ends in a colon is a reason, the lines behind it are the names of
    cases."""
    cases, reason = {}, None
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.endswith(":"):
            reason = line[:-1]
        elif reason is None or line in cases:
            raise ValueError(f"onnx_refused.txt: {line!r} "
                             + ("stands before any reason" if reason is None else "is there twice"))
        else:
            cases[line] = reason
    return cases
