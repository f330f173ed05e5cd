"""Python is read by the Python that runs the tests, which is Debian 12's: scripts that no test
runs, too."""
import ast


def is_python(path, text):
    return path.endswith(".py") or (text.startswith("#!") and "python" in text.partition("\n")[0])


def check(tree):
    problems = []
    for path in tree.paths:
        text = tree.text(path) or ""
        if not is_python(path, text):
            continue
        try:
            ast.parse(text, path)
        except SyntaxError as error:
            problems.append(f"{path}:{error.lineno}: {error.msg}; expected what this Python takes")
    return problems


CLEAN = {
    "test/a.py": "print('a')\n", "tools/scripts/b": "#!/usr/bin/env python3\nprint('b')\n",
    "tools/scripts/c": "#!/bin/sh\nif\n"
}
PLANTED = [
    ({"test/d.py": "print('d'\n"}, "test/d.py:1"),
    ({"tools/scripts/e": "#!/usr/bin/env python3\n\nreturn =\n"}, "tools/scripts/e:3"),
]
