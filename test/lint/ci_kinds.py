"""The table of kinds of test in CONTRIBUTING.md is that of tools/scripts/checks:
tools/scripts/ci-table writes it from the first lines of each check. The times that were measured
are the table's own."""
import re

PAGE = "CONTRIBUTING.md"
FOLDER = "tools/scripts/checks/"
COMMAND = "tools/scripts/ci-table"
BEGIN, END = "<!-- printed by tools/scripts/ci-table -->", "<!-- end of what tools/scripts/ci-table prints -->"
# Steps of a run that are no check: what they are, seconds of the budget.
STEPS = {
    "setup": ("Debian packages, and the Pythons of the oracles.", 120),
    "build": ("Everything, Release, from nothing.", 600)
}


def seconds_of(text):
    """"90 s" or "4 min" in seconds."""
    number, unit = text.split()
    return int(number) * (60 if unit == "min" else 1)


def spelled(seconds):
    return f"{seconds // 60} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds} s"


def head(text):
    """(what the check is, the kinds that it comes after, its budget in seconds) of the comment
    below `#!`; None for what is missing."""
    lines = []
    for line in text.splitlines()[1:]:
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    budget = re.fullmatch(r"Budget: (\d+ (?:s|min))\.", lines[-1]) if lines else None
    after = [match[1] for line in lines if (match := re.fullmatch(r"After: (.+)\.", line))]
    what = " ".join(line for line in lines if not re.match(r"(Budget|After): ", line))
    return what or None, after, seconds_of(budget[1]) if budget else None


def rows(tree):
    """(kind, what it is, budget) in the order of a run; a ValueError where a check does not say."""
    found = [(name, what, budget) for name, (what, budget) in STEPS.items()]
    for path in tree.paths:
        if match := re.fullmatch(FOLDER + r"\d\d-(.+)", path):
            what, after, budget = head(tree.text(path))
            if not what or not budget:
                raise ValueError(
                    f"{path}: expected a comment below '#!' that says what the check is and ends in '# Budget: 60 s.'"
                )
            if unknown := set(after) - {kind for kind, _, _ in found}:
                raise ValueError(
                    f"{path}: comes after '{unknown.pop()}', but no check with a smaller number is called so"
                )
            # The first sentence, or what stands before a colon or semicolon.
            found.append(
                (match[1], re.split(r"(?<=\w)[:;] |(?<=[\w)])\. ", what)[0].rstrip(".") + ".",
                 budget))
    return found


def measured(page):
    """kind -> the time that the table of `page` holds."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    return {
        kind: time
        for kind, time in re.findall(r"^\| ([\w-]+) \| [^|]+ \| ([^|]*?) \|", table, re.M)
        if time != "-"
    }


def render(found, times):
    total = -(-sum(budget for _, _, budget in found) // 60)
    lines = [
        BEGIN,
        f"The budgets of all steps are {total} minutes together. Kinds run side by side, as many as there are processors:",
        "each takes longer than alone, and a run on two processors takes about half of the sum.",
        "", "| step | budget | measured | what it is |", "|---|---|---|---|"
    ]
    lines += [
        f"| {kind} | {spelled(budget)} | {times.get(kind, '-')} | {what} |"
        for kind, what, budget in found
    ]
    return "\n".join(lines + [END])


def replaced(page, table):
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return before + table + after if begin and end else None


def check(tree):
    if PAGE not in tree.paths:
        return []
    page = tree.text(PAGE)
    try:
        expected = replaced(page, render(rows(tree), measured(page)))
    except ValueError as error:
        return [str(error)]
    if expected is None:
        return [f"{PAGE}: expected the lines '{BEGIN}' and '{END}' around the table of checks"]
    return [] if page == expected else [
        f"{PAGE}: the table of checks is not what {COMMAND} prints; print it again"
    ]


CHECK = "#!/usr/bin/env bash\n# Lint: rules as data.\n# More of it.\n# Budget: 10 s.\nexec true\n"
TABLE = "\n".join([
    BEGIN,
    "The budgets of all steps are 13 minutes together. Kinds run side by side, as many as there are processors:",
    "each takes longer than alone, and a run on two processors takes about half of the sum.", "",
    "| step | budget | measured | what it is |", "|---|---|---|---|",
    "| setup | 2 min | - | Debian packages, and the Pythons of the oracles. |",
    "| build | 10 min | 700 s | Everything, Release, from nothing. |",
    "| lint | 10 s | 7 s | Lint. |", END
])
CLEAN = {FOLDER + "10-lint": CHECK, PAGE: f"# A\n\n{TABLE}\n\nMore.\n"}
PLANTED = [
    ({FOLDER + "10-lint": CHECK.replace("10 s",
                                        "20 s")}, "is not what tools/scripts/ci-table prints"),
    ({FOLDER + "20-unit": CHECK}, "is not what tools/scripts/ci-table prints"),
    ({FOLDER + "10-lint": CHECK.replace("# Budget: 10 s.\n",
                                        "")}, "10-lint: expected a comment below '#!'"),
    ({FOLDER + "10-lint": CHECK.replace("# Lint: rules as data.\n# More of it.\n",
                                        "")}, "10-lint: expected a comment below '#!'"),
    ({FOLDER + "10-lint": CHECK.replace("# Budget", "# After: unit.\n# Budget")},
     "10-lint: comes after 'unit'"),
    ({PAGE: "# A\n"}, "around the table of checks"),
]
