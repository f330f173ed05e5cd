"""Lines of a model that something reads."""

import re


def used_lines(lines, wanted):
    """Without the assignments that nothing reads: rows pass over some arguments of ops. A loop
    keeps what it reads anywhere, for that may be of the step before."""
    wanted, kept = set(wanted), []
    for position in reversed(range(len(lines))):
        line = lines[position]
        if line.lstrip().startswith("#"):
            if kept and not kept[-1].lstrip().startswith("#"):
                kept.append(line)
            continue
        if line.strip() == "}":
            wanted.update(_read_in_loop(lines, position))
        if line.endswith("{") and [text.strip() for text in kept[-2:]] == ["}", "} else {"]:
            del kept[-2:]  # no branch gives anything
            continue
        targets, text = _assigned(line)
        is_check = any(target.startswith("_checked_") for target in targets)
        if targets and wanted.isdisjoint(targets) and not is_check:
            continue
        wanted.update(_reads(text))
        kept.append(line)
    return kept[::-1]


def _assigned(line):
    """The names that a line assigns, and what it reads."""
    names, sign, text = line.partition(" = ")
    return (_words(names), text) if sign and "{" not in names else ([], line)


def _words(text):
    return re.findall(r"[A-Za-z_]\w*", text)


def _reads(text):
    """Names that a text may read: not those of functions and arguments, which a value may have."""
    return re.findall(r"[A-Za-z_]\w*\b(?!\()(?!=[^=])", text)


def _read_in_loop(lines, end):
    """What a loop reads whose last line is `end`; nothing where that is the end of a branch."""
    depth = lines[end][: -len(lines[end].lstrip())]
    start = end - 1
    while not (lines[start].startswith(depth) and lines[start][len(depth)] not in " }"):
        start -= 1
    if not lines[start].strip().startswith(("for ", "while ")):
        return set()
    return {word for line in lines[start:end] for word in _reads(_assigned(line)[1])}
