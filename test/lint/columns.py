"""No line of a source file is longer than 100 columns, but for a string that is one and for raw
text."""

import ast
import re

SUFFIXES = (".cpp", ".h", ".hpp", ".c", ".cuh", ".td", ".def", ".fbs", ".py")
LIMIT = 100
#: A literal that is longer may stand in a longer line: it cannot be broken.
LITERAL = 50
STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
#: C++'s raw text, and TableGen's schemas, a line each.
RAW = re.compile(r'R"(\w*)\(.*?\)\1"|\[\{\w+\(.*?\}\]', re.S)


def raw_lines(path, text):
    """The numbers, from 1, of lines whose text is that of a literal of several lines."""
    if not path.endswith(".py"):
        ends = [(match.start(), match.end()) for match in RAW.finditer(text)]
        return {
            line
            for begin, end in ends
            for line in range(text.count("\n", 0, begin) + 1, text.count("\n", 0, end) + 2)
        }
    strings = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno > node.lineno
    ]
    docs = {
        id(node.body[0].value)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return {
        line
        for node in strings
        if id(node) not in docs
        for line in range(node.lineno, node.end_lineno + 1)
    }


def has_literal(line):
    return any(len(text) > LITERAL for text in STRING.findall(line)) or "://" in line


def check(tree):
    problems = []
    for path in tree.code(SUFFIXES):
        text = tree.text(path)
        lines = text.split("\n")
        if all(len(line) <= LIMIT for line in lines):
            continue
        raw = raw_lines(path, text)
        problems += [
            f"{path}:{number}: {len(line)} columns (limit {LIMIT})"
            for number, line in enumerate(lines, 1)
            if len(line) > LIMIT and number not in raw and not has_literal(line)
        ]
    return problems


LONG = "int x; // " + "word " * 20 + "\n"
CLEAN = {
    "ir/A.h": 'int x;\nconst char *text = R"(' + "word " * 30 + ')";\n',
    "ir/B.cpp": 'f("' + "word " * 30 + '");\n',
    "test/a.py": 'TEXT = """\n' + "word " * 30 + '\n"""\n',
}
PLANTED = [
    ({"ir/A.h": LONG}, "ir/A.h:1: 110 columns"),
    ({"test/a.py": "#" + "word " * 30 + "\n"}, "test/a.py:1: 151 columns"),
]
