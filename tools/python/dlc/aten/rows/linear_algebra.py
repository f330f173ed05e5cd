"""Rows of linear algebra."""

from ..call import number_text
from .elementwise import operand
from ..table import row


def _without_codes(call, positions, what="the error codes"):
    """Refuses results that only a check of errors may read."""
    for node in call.node.users:
        if node.args[1] in positions and any(
            user.op != "call_function" or "_check_errors" not in f"{user.target} {user.args[1:2]}"
            for user in node.users
        ):
            call.refuse(f"{what} of a factorization, which dlc does not give")


@row("einsum")
def _einsum(call):
    return f'einsum("{call["equation"]}", {", ".join(map(call.text, call["tensors"]))})'


@row("linalg_inv_ex")
def _inverse(call):
    _without_codes(call, (1,))
    return [call.emit(f"inv({call('A')})"), None]


@row("_linalg_solve_ex", "linalg_solve_ex")
def _solve(call):
    """B is a batch of vectors where it has the dims of A without the last."""
    _without_codes(call, (1, 2, 3))
    a, b = call["A"], call["B"]
    is_vector = call.rank(b) == 1 or call.shape(b) == call.shape(a)[:-1]
    text = f"unsqueeze({call('B')}, -1)" if is_vector else call("B")
    left = None if call["left"] or is_vector else "false"
    text = call.function("solve", call("A"), text, left=left)
    found = f"squeeze({call.emit(text)}, -1)" if is_vector else text
    return [call.emit(found), None, None, None][: len(call.schema.returns)]


@row("_linalg_det", "_linalg_slogdet")
def _determinant(call):
    if call.name == "_linalg_det":
        _without_codes(call, (1, 2), "the factors")
        return [call.emit(f"det({call('A')})"), None, None]
    _without_codes(call, (2, 3), "the factors")
    names = call.program.emit_many(
        f"slogdet({call('A')})", "slogdet", [call.is_used(0), call.is_used(1)]
    )
    return [*names, None, None]


@row("linalg_cholesky_ex")
def _cholesky(call):
    _without_codes(call, (1,))
    upper = "true" if call["upper"] else None
    return [call.emit(call.function("cholesky", call("self"), upper=upper)), None]


@row("cholesky_solve", "cholesky_inverse")
def _of_cholesky(call):
    factor = (call("input2"),) if call.name == "cholesky_solve" else ()
    upper = "true" if call["upper"] else None
    return call.function(call.name, call("self"), *factor, upper=upper)


@row("linalg_solve_triangular")
def _solve_triangular(call):
    return call.function(
        "solve_triangular",
        call("self"),
        call("B"),
        upper="true" if call["upper"] else "false",
        left=None if call["left"] else "false",
        unitriangular="true" if call["unitriangular"] else None,
    )


@row("triangular_solve")
def _triangular_solve(call):
    """Of x in A x = self; the second result is A."""
    turned, upper = call["transpose"], call["upper"]
    text = call.function(
        "solve_triangular",
        f"transpose({call('A')}, -2, -1)" if turned else call("A"),
        call("self"),
        upper="true" if upper != turned else "false",
        unitriangular="true" if call["unitriangular"] else None,
    )
    shape = call.meta()[1].shape
    return [call.emit(text), f"expand({call('A')}, {call.sizes(shape)})"]


@row("linalg_cross", "cross")
def _cross(call):
    dtype = call.meta().dtype
    x, other = (operand(call, call[name], dtype) for name in ("self", "other"))
    dim = call["dim"]
    return call.function("cross", x, other, dim=str(dim) if dim is not None else None)


@row("_trilinear")
def _trilinear(call):
    """Sums over dims of products of three tensors, each with dims added."""
    parts = []
    for number in (1, 2, 3):
        text = call(f"i{number}")
        for dim in sorted(call[f"expand{number}"]):
            text = call.emit(f"unsqueeze({text}, {dim})")
        parts.append(text)
    dims = list(call["sumdim"])
    product = " * ".join(parts)
    return f"sum({call.emit(product)}, {dims})" if dims else product


@row("dist")
def _dist(call):
    dtype = call.meta().dtype
    x, other = (operand(call, call[name], dtype) for name in ("self", "other"))
    return call.function("dist", x, other, p=number_text(float(call["p"])))
