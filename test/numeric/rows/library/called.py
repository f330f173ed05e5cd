"""Rows of functions that are written in the language, and inputs that they share."""
import functools
import os
import re
import subprocess
import tempfile

import numpy as np

import accuracy as acc
from rows.row import element_of, row

FLOATS = ("f32", "f64")
SIZES = (1, 2, 3, 7, 8, 17, 33)
ANY = ("f32", "i32", "i1", "f16")
UNIT = [i / 16 for i in range(1, 16)]  # probabilities
NUMBERS = [-3.0, -1.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0]
SPECIAL = NUMBERS + [float("nan"), float("inf"), float("-inf")]
PLAIN = (("N", 5),)


def declared(shape, dtype):
    """The type of a port: "f32[3,N]"."""
    dims = ",".join(str(dim).replace("floordiv", "//") for dim in shape)
    return f"{'bool' if dtype == 'i1' else dtype.replace('ui', 'u')}[{dims}]"


@functools.lru_cache(None)
def imported(text):
    """The lines of ops of a model, and the value that it returns."""
    from voices import Failure, built
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.dl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        run = subprocess.run([
            os.environ.get("DLC_TOOL") or built("bin", "dlc"), "compile", path,
            "--compile-to=import"
        ], capture_output=True, text=True, check=False)
    if run.returncode:
        raise Failure(" ".join(run.stderr.split())[:400])
    text = run.stdout
    for alias, value in re.findall(r"^(#\w+) = (.*)$", text, re.M):
        text = re.sub(re.escape(alias) + r"\b", lambda _, value=value: value, text)
    # Each of several results gets a name.
    text = re.sub(r"(%\w+):(\d+) =",
                  lambda m: ", ".join(f"{m.group(1)}_{i}" for i in range(int(m.group(2)))) + " =",
                  text)
    text = re.sub(r"(%\w+)#(\d+)", r"\1_\2", text)
    body = re.search(r"func\.func .*?\{\n(.*?)\n\s*return (%\S+) :", text, re.S)
    return [line.strip() for line in body.group(1).splitlines()], body.group(2)


def letters(number):
    return "v" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


def function(name, call, dtypes, inputs, result, expected, bound=acc.exact, sizes=SIZES,
             values="normal", kinds=None, **kwargs):
    """A row of `call`, an expression over x0, x1 ..., to which `expected` is PyTorch's."""
    kinds = kinds or {}

    def body(names, types, _, dtype_of=kwargs.get("result_dtype")):
        dtype = next((element_of(type) for number, type in enumerate(types) if number not in kinds),
                     None)
        ports = ", ".join(f"x{i}: {declared(shape, kinds[i][0] if i in kinds else dtype)}"
                          for i, shape in enumerate(inputs))
        dim = f"dim N = {min(sizes)}..{max(sizes)}\n" if "N" in ports else ""
        lines, returned = imported(f"dl 1\n{dim}model Row {{\n  forward({ports}) -> (y: {declared(result, dtype_of or dtype)}) {{\n"
                                   f"    y = {call}\n  }}\n}}\n")
        known = {**{f"%arg{i}": value for i, value in enumerate(names)}, returned: "%y"}
        value = lambda match: known.setdefault(match.group(), "%" + letters(len(known)))
        return "\n".join(re.sub(r"%\w+", value, line) for line in lines)

    row(name, dtypes, inputs, result, expected, bound, sizes=sizes, values=values, kinds=kinds,
        body=body, is_composed=True, **kwargs)


def near(count, size=1.0):
    """Units in the last place of results that are made of terms of `size`."""
    def bound(y, inputs, dtype):
        return count * acc.ulp(np.maximum(np.abs(np.nan_to_num(y, posinf=0, neginf=0)), size),
                               acc.compute(dtype)) + acc.stored(dtype, y)
    return bound


def pair(name, call, expected, count=32, shapes=(("N", 5), ("N", 5)), result=(), dtypes=FLOATS,
         **kwargs):
    function(name, call, dtypes, list(shapes), result, expected, near(count), **kwargs)


def each(name, expected, call=None, count=8, shapes=(("N", 5), ("N", 5)), dtypes=FLOATS,
         values=SPECIAL, size=2.0**-20, **kwargs):
    call = call or f"{name}({', '.join(f'x{i}' for i in range(len(shapes)))})"
    function(name, call, dtypes, list(shapes), kwargs.pop("result", shapes[0]), expected,
             near(count, size) if count else acc.equal, values=values, **kwargs)


def moves(name, call, expected, shapes, result, dtypes=ANY, **kwargs):
    function(name, call, dtypes, list(shapes), result, expected, acc.equal, values="whole",
             **kwargs)
