"""No tracked file names a place on the machine of the person who wrote it."""
import re

# Spelt in pieces so that this file does not blame itself.
PLACES = re.compile("(?<![\\w.}$-])/(?:" + "|".join(("wor" + "k", "roo" + "t", "hom" + "e"))
                    + ")/[\\w.]")


def check(tree):
    problems = []
    for path in tree.paths:
        for number, line in enumerate((tree.text(path) or "").splitlines(), 1):
            match = PLACES.search(line)
            if match:
                problems.append(
                    f"{path}:{number}: '{line[match.start():match.start() + 30]}' exists on one machine only"
                )
    return problems


CLEAN = {"README.md": "https://example.org/work/x ../work/y $HOME/root/z build/work/a\n"}
PLANTED = [
    ({"tools/scripts/a": "cd /wor" + "k/here\n"}, "exists on one machine only"),
    ({"test/b.py": 'x = "/roo' + 't/data"\n'}, "test/b.py:1"),
    ({"docs/c.md": "(/hom" + "e/me)\n"}, "docs/c.md:1"),
]
