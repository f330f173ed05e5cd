"""The table of ATen's overloads: for each a function that gives the expression of the language
which computes it.

A row gets a `Call` (call.py) and returns a text, or a list of texts for an op of several results
(None for a result that nothing uses). Rows are in the modules that ROWS is filled by, one module
for each subject; `same` is for the overloads whose function in the language has the same name,
arguments and meaning."""

#: "relu.default" -> row
ROWS = {}
#: Overloads of which `same` made the row.
SAME = set()
#: Overloads tagged as core, and others that are met, that have no row, and why. It may only shrink.
WITHOUT = {}


def row(*overloads):
    """Declares a function to be the row of these overloads; a name without a dot is its overload
    `default`."""

    def declare(function):
        for overload in overloads:
            name = overload if "." in overload else overload + ".default"
            if name in ROWS:
                raise ValueError(f"two rows for {name}")
            ROWS[name] = function
        return function

    return declare


def same(overloads, **renamed):
    """Rows of overloads that the language has under the same name; `renamed` gives other names of
    arguments."""
    for overload in overloads.split():
        row(overload)(lambda call: call.same(renamed))
        SAME.add(overload if "." in overload else overload + ".default")


def without(reason, overloads):
    """Overloads that have no row, for this reason."""
    for overload in overloads.split():
        WITHOUT[overload if "." in overload else overload + ".default"] = reason


def why_none(name):
    """Why an overload has no row."""
    of_user = "; dlc.register_op gives it one" if "::" in name else ""
    return WITHOUT.get(name, "dlc has no row for it" + of_user)


def name_of(overload):
    """ "relu.default" of torch.ops.aten.relu.default; with the namespace in front where it is not
    ATen's."""
    name = overload._schema.name
    return (
        (name[len("aten::") :] if name.startswith("aten::") else name)
        + "."
        + overload._overloadname
    )
