"""Rows that users give for their own ops of PyTorch (dlc.register_op).

A user's text is checked by itself before it becomes a part of a model: as the whole of a small
model whose inputs have the types of the op's arguments and whose outputs have the types that the
op's fake function gives. So a message is about the op and its text, and not about a line of a text
that the user never sees."""

import functools
import json
import re
import subprocess

import sympy
import torch

from ..errors import Code, Error
from .call import dtype_text, number_text
from .graphs.control import op
from .failure import ExportFailure
from .sizes import Sizes, plain
from .table import ROWS, name_of


def register_op(name, function):
    """dlc.register_op, whose page is in compiler.py."""
    from . import program  # noqa: F401  (its imports fill the table)

    overload = _overload_of(name)
    _check_schema(overload)
    known = ROWS.get(name_of(overload))
    if known is not None and not isinstance(known, _Row):
        raise Error(f"dlc has a row of its own for {name_of(overload)}", Code.USAGE)
    ROWS[name_of(overload)] = _Row(overload, function)


def _overload_of(name):
    """The op that a name means."""
    found = re.fullmatch(r"(\w+)::(\w+)(?:\.(\w+))?", name) if isinstance(name, str) else None
    if not found:
        raise Error(f'register_op has the name {name!r}; expected "library::op"', Code.USAGE)
    library, op_name, overload = found.groups()
    packet = getattr(getattr(torch.ops, library), op_name, None)
    if packet is None:
        raise Error(
            f"PyTorch has no op {library}::{op_name}; define it before it is registered, as by "
            "torch.library.custom_op",
            Code.USAGE,
        )
    if (overload or "default") not in packet.overloads():
        raise Error(
            f"{library}::{op_name} has no overload '{overload or 'default'}'; it has "
            f"{', '.join(packet.overloads())}",
            Code.USAGE,
        )
    return getattr(packet, overload or "default")


def _changed(schema):
    """The names of the arguments that an op changes."""
    return [
        argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    ]


def _check_schema(overload):
    """Refuses ops that no row can write."""
    schema, name = overload._schema, name_of(overload)
    for result in schema.returns:
        if str(result.type) != "Tensor":
            raise Error(f"{name} gives a {result.type}; a row can give tensors only", Code.USAGE)
        if result.alias_info is not None:
            raise Error(
                f"{name} returns an argument or a view of one; define an op that returns a new tensor",
                Code.USAGE,
            )
    changed = _changed(schema)
    for argument in schema.arguments:
        if argument.name in changed and str(argument.type) != "Tensor":
            raise Error(
                f"{name} changes its argument '{argument.name}', a {argument.type}; a row can change "
                "tensors only",
                Code.USAGE,
            )
    if not schema.returns and not changed:
        raise Error(f"{name} gives no result and changes no argument", Code.USAGE)


class _Row:
    """The row of one op, by the user's `function`."""

    def __init__(self, overload, function):
        self.schema, self.function = overload._schema, function
        self.title = f"torch.ops.{self.schema.name.replace('::', '.')}.{overload._overloadname}"

    def __call__(self, call):
        held = call.meta()
        if isinstance(held, torch.Tensor):
            texts = self.write(call.program, call.arguments, [held])
            return texts if isinstance(texts, str) else texts[0]
        texts = self.write(call.program, call.arguments, list(held))
        if isinstance(texts, str):
            return call.results(texts, len(held))
        return [call.emit(text) for text in texts]

    def write(self, program, arguments, results):
        """The user's text, or texts, of a call. `arguments` by name; `results`: fake tensors."""
        small = _Small(program, arguments, results)
        text = self._given(small.texts, len(results))
        small.check(self.title, text)
        return self._given(
            {key: _passed(program, value, _named(program)) for key, value in arguments.items()},
            len(results),
        )

    def _given(self, arguments, count):
        """What the user's function, or text, makes of arguments."""
        if callable(self.function):
            found = self._called(arguments)
        else:
            found = _filled(self.function, arguments)
        many = list(found) if isinstance(found, (list, tuple)) else [found]
        if not all(isinstance(text, str) and text.strip() for text in many):
            raise ExportFailure(
                f"the function registered for {self.title} gave {found!r}; expected a text of the "
                "language, or a tuple of texts"
            )
        if isinstance(found, (list, tuple)) and len(many) != count:
            raise ExportFailure(
                f"the function registered for {self.title} gave {len(many)} texts; expected {count}"
            )
        many = [" ".join(text.split()) for text in many]
        return many[0] if isinstance(found, str) else many

    def _called(self, arguments):
        places = [one.name for one in self.schema.arguments if not one.kwarg_only]
        by_name = {one.name: arguments[one.name] for one in self.schema.arguments if one.kwarg_only}
        try:
            return self.function(*(arguments[name] for name in places), **by_name)
        except Exception as error:
            raise ExportFailure(
                f"the function registered for {self.title} raised {type(error).__name__}: {error}"
            ) from error


def _filled(template, arguments):
    """A text, or each of several, with the arguments in place of their names."""
    if isinstance(template, (list, tuple)):
        return [_filled(text, arguments) for text in template]
    if not isinstance(template, str):
        return template

    def replaced(found):
        name = found[0]
        return _as_text(arguments[name]) if name in arguments else name

    # Strings, and names that are not those of functions, of named arguments or of members.
    return re.sub(r'"[^"]*"|(?<![\w.])[A-Za-z_]\w*\b(?!\s*\()(?!\s*=[^=])', replaced, template)


def _as_text(value):
    """What a function gets, as a part of a text."""
    if isinstance(value, _Name):
        return value
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_text, value))}]"
    if isinstance(value, str):
        return f'"{value}"'
    return "none" if value is None else number_text(value)


class _Name(str):
    """A text that names a tensor, a size or a dtype, where other strings are strings."""


def _passed(program, value, named):
    """A value of the graph as the user's function gets it; `named` gives the texts of nodes and of
    sizes."""
    if isinstance(value, (list, tuple)):
        return [_passed(program, part, named) for part in value]
    if isinstance(value, (torch.fx.Node, torch.SymInt, torch.SymFloat, torch.SymBool)):
        size = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
        if isinstance(size, (torch.SymInt, int)) and isinstance(plain(size), int):
            return plain(size)
        return _Name(named(value))
    return _Name(dtype_text(value)) if isinstance(value, torch.dtype) else value


def _named(program):
    """The names that a program has for values."""
    return lambda value: program.emit(program.value(value), "value")


class _Small:
    """The model that checks a text: `texts` are what the user's function gets for it."""

    def __init__(self, program, arguments, results):
        self.program, self.arguments, self.results = program, arguments, results
        #: dims by sympy expression; the inputs of the model; lines that compute sizes
        self.dims, self.inputs, self.lines = {}, [], []
        self.sizes = Sizes(self._emit)
        self.texts = {}
        for name, value in arguments.items():
            count = iter(range(1 << 20))
            several = isinstance(value, (list, tuple))
            self.texts[name] = _passed(
                program,
                value,
                lambda node: self._value(
                    node, f"{name}_{next(count)}" if several else name  # noqa: B023
                ),
            )

    def _emit(self, text, wanted=None):
        self.lines.append(f"computed_{len(self.lines)} = {text}")
        return self.lines[-1].partition(" ")[0]

    def _value(self, node, name):
        held = node.meta["val"] if isinstance(node, torch.fx.Node) else node
        if isinstance(held, torch.SymInt):
            return self._number(plain(held))
        if not isinstance(held, torch.Tensor):
            kind = "bool" if isinstance(held, torch.SymBool) else "f64"
            self.inputs.append(f"{name}: {kind}[]")
            return name
        self.inputs.append(f"{name}: {self._type(held, self._dim)}")
        return name

    def _number(self, size):
        """A size that is an argument: one input has each of its symbols."""
        for symbol in sorted(size.free_symbols, key=str):
            self.sizes.names[symbol] = self._symbol(symbol)
            sized = f"{self.dims[symbol]}_: f32[{self.dims[symbol]}]"
            if sized not in self.inputs:
                self.inputs.append(sized)
        return self.sizes.text(size)

    def _dim(self, size):
        """A size of an input. One that is not a sum of products of symbols is a dim by itself."""
        return str(size) if isinstance(size, int) else self._simple(size) or self._symbol(size)

    def _simple(self, expr):
        kinds = {type(part) for part in sympy.preorder_traversal(expr)}
        known = (sympy.Add, sympy.Mul, sympy.Symbol, sympy.Integer)
        if not all(issubclass(kind, known) for kind in kinds):
            return None
        for symbol in sorted(expr.free_symbols, key=str):
            self.sizes.names[symbol] = self._symbol(symbol)
        return self.sizes.text(expr)

    def _symbol(self, expr):
        if expr not in self.dims:
            known = self.program.sizes.names.get(expr, "")
            name = known if re.fullmatch(r"[A-Za-z_]\w*", known) else f"D{len(self.dims)}"
            is_taken = name in self.dims.values() or name in self.arguments
            self.dims[expr] = f"D{len(self.dims)}_" if is_taken else name
        return self.dims[expr]

    def _result(self, name, tensor):
        """An output. Dims that inputs do not have are not checked."""

        def dim(size):
            if isinstance(size, int):
                return str(size)
            is_known = size in self.dims or all(one in self.dims for one in size.free_symbols)
            text = self.dims.get(size) or (self._simple(size) if is_known else None)
            return text or "?"

        return f"{name}: {self._type(tensor, dim)}"

    @staticmethod
    def _type(tensor, dim):
        return f"{dtype_text(tensor.dtype)}[{','.join(dim(plain(size)) for size in tensor.shape)}]"

    def check(self, title, text):
        """Raises what is wrong with the text, or texts, of a call."""
        names = self._result_names()
        outputs = ", ".join(map(self._result, names, self.results))
        whole = (
            [f"{', '.join(names)} = {text}"]
            if isinstance(text, str)
            else list(map("{} = {}".format, names, text))
        )
        lines = [
            "dl 1",
            *(
                self.program.dim_line(name, *self.program.range_of(symbol))
                for symbol, name in self.dims.items()
            ),
            "model Registered {",
            f"  forward({', '.join(self.inputs)}) -> ({outputs}) {{",
            *(f"    {line}" for line in (*self.lines, *whole)),
            "  }",
            "}",
            "",
        ]
        found = _findings("\n".join(lines))
        if found:
            shown = text if isinstance(text, str) else ", ".join(text)
            raise ExportFailure(
                f"{title}: the text registered for it is '{shown}' of ({', '.join(self.inputs)}): "
                + "; ".join(map(_explained, found))
            )

    def _result_names(self):
        """Names that no argument has."""
        taken = {text.partition(":")[0] for text in self.inputs} | set(self.dims.values())
        names = (
            ["result"]
            if len(self.results) == 1
            else [f"result_{i}" for i in range(len(self.results))]
        )
        return [
            next(n for n in (name, *(f"{name}_{i}_" for i in range(99))) if n not in taken)
            for name in names
        ]


def _explained(message):
    """A finding of the compiler about the small model, in words about the op."""
    found = re.fullmatch(r"output '(\w+)' is (\S+), declared as (\S+); change one of them", message)
    if not found:
        return message
    name, given, wanted = found.groups()
    which = (
        ""
        if name.startswith("result") and not re.search(r"\d", name)
        else f" as result {re.search(r'[0-9]+', name)[0]}"
    )
    return (
        f"it gives {given}{which}; expected {wanted}, which is what PyTorch's fake function gives"
    )


@functools.lru_cache(maxsize=None)
def _findings(text):
    """The errors that the compiler finds in the text of a model."""
    from ..compiler import find_tool

    run = subprocess.run(
        [find_tool(), "check", "-", "--json"], input=text, capture_output=True, text=True
    )
    try:
        found = json.loads(run.stdout)["diagnostics"]
    except (ValueError, KeyError):
        return (run.stderr.strip(),) if run.returncode else ()
    return tuple(one["message"] for one in found if one["severity"] == "error")


@op("auto_functionalized_v2")
def _changing(program, node):
    """An op that changes arguments, as PyTorch's functional graphs have it: its results, then the
    new values of the tensors that it changes."""
    why = why_not_changing(node)
    if why:
        raise ExportFailure(why, node)
    overload, given = node.args[0], dict(node.kwargs)
    bases = given.pop("_all_bases")
    places = {name: given[f"_{name}_base_index"] for name in _changed(overload._schema)}
    arguments = {}
    for argument in overload._schema.arguments:
        name = argument.name
        arguments[name] = (
            bases[places[name]] if name in places else given.get(name, argument.default_value)
        )
    held = node.meta["val"]
    count = len(overload._schema.returns)
    results = [*held[:count], *(bases[place].meta["val"] for place in places.values())]
    texts = ROWS[name_of(overload)].write(program, arguments, results)
    if isinstance(texts, str) and len(results) > 1:
        names = program.emit_many(
            texts, overload._schema.name.split("::")[1], [True] * len(results)
        )
    else:
        texts = [texts] if isinstance(texts, str) else texts
        names = [program.emit(text, overload._schema.name.split("::")[1]) for text in texts]
    changed = dict(zip(places.values(), names[count:]))
    after = [changed.get(i) or program.value(base) for i, base in enumerate(bases)]
    return [*(names[:count] or [None]), *after]


def why_not_changing(node):
    """Why dlc cannot take a call of an op that changes arguments; None where it can."""
    overload = node.args[0]
    title = f"torch.ops.{overload._schema.name.replace('::', '.')}.{overload._overloadname}"
    if not isinstance(ROWS.get(name_of(overload)), _Row):
        return f"{title}: dlc has no row for it; dlc.register_op gives it one"
    for name in _changed(overload._schema):
        others = {key for key in node.kwargs if re.fullmatch(rf"_{name}_(?!base_index)\w+", key)}
        if f"_{name}_base_index" not in node.kwargs or others:
            return f"{title}: it changes '{name}', which is a view of another tensor"
    return None
