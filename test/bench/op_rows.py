"""The rows of op_rows.txt, which says how they are written."""
import math
import os
import re

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "op_rows.txt")
BYTES = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1,
    "bool": 1
}


class Value:
    """An input or a result: dtype, dims, and of an input its name and what it holds."""

    def __init__(self, text, name=None):
        match = re.fullmatch(r"(\w+)\[([\d,?]*)\] ?(.*)", text)
        if not match:
            raise ValueError(f"'{text}' is not dtype[dims]")
        self.name, self.dtype, self.kind = name, match.group(1), match.group(3)
        dims = [dim for dim in match.group(2).split(",") if dim]
        self.dims = [int(dim.lstrip("?")) for dim in dims]
        self.elements = math.prod(self.dims)
        self.bytes = self.elements * BYTES[self.dtype]
        # A dim whose size the data say is written with the largest that it can be, which the values
        # here make it.
        self.type = f"{self.dtype}[{','.join('?' if dim.startswith('?') else dim for dim in dims)}]"


def listed(text):
    """`text` cut at the commas outside of brackets."""
    return [part.strip() for part in re.split(r",\s*(?![^\[]*\])", text) if part.strip()]


class Row:
    """`standsFor`: the name of the row that stands for an op which no text can call; else None."""

    def __init__(self, line):
        fields = [field.strip() for field in line.split("|")]
        self.name, self.call = fields[0], fields[1]
        self.op = self.name.split("/")[0]
        other = re.fullmatch(r"as (.*)", self.call)
        self.stands_for = other.group(1) if other else None
        if other:
            return
        fields += [""] * (5 - len(fields))
        self.inputs = [
            Value(text.split(" ", 1)[1],
                  text.split(" ", 1)[0]) for text in listed(fields[2])
        ]
        self.results = [Value(text) for text in listed(fields[3])] or [Value(self.inputs[0].type)]
        more = dict(part.strip().split("=", 1) for part in fields[4].split(";") if part.strip())
        unknown = set(more) - {"flops", "read", "torch"}
        if unknown:
            raise ValueError(f"{self.name}: unknown {', '.join(sorted(unknown))}")
        read = number(more["read"]) if "read" in more else sum(value.elements
                                                               for value in self.inputs)
        written = sum(value.bytes for value in self.results)
        width = max([BYTES[value.dtype] for value in self.inputs], default=0)
        self.bytes = written + (read * width if "read" in more else sum(value.bytes
                                                                        for value in self.inputs))
        self.working_set = written + sum(value.bytes for value in self.inputs)
        self.flops = number(more["flops"]) if "flops" in more else max(
            read, sum(value.elements for value in self.results))
        self.torch = more.get("torch", self.call)

    def model(self):
        """The row as a model of the language."""
        results = [f"y{i}" for i in range(len(self.results))]
        ports = ", ".join(f"{value.name}: {value.type}" for value in self.inputs)
        types = ", ".join(f"{name}: {value.type}" for name, value in zip(results, self.results))
        return (f"dl 1\n\nmodel Row {{\n  forward({ports}) -> ({types}) {{\n    {', '.join(results)} = {self.call}\n"
                "  }\n}\n")


def number(text):
    return math.prod(int(factor) for factor in text.split("*"))


def rows():
    with open(TABLE, encoding="utf-8") as source:
        lines = [line for line in source if line.strip() and not line.startswith("#")]
    found = [Row(line) for line in lines]
    names = [row.name for row in found]
    for row in found:
        if names.count(row.name) > 1:
            raise ValueError(f"two rows are called '{row.name}'")
        if row.stands_for and row.stands_for not in names:
            raise ValueError(f"'{row.name}' stands for the row '{row.stands_for}', which is none")
    return found
