"""Linear algebra. Matrices are far from singular where that matters."""
import torch

import accuracy as acc
from rows.library.called import PLAIN, UNIT, function, pair

pair("vdot", "vdot(x0, x1)", torch.vdot, shapes=(("N",), ("N",)), count=128)
pair("vecdot", "vecdot(x0, x1)", lambda x, y: (x * y).sum(-1), result=("N",))
pair("ger", "ger(x0, x1)", torch.outer, shapes=(("N",), (3,)), result=("N", 3))
pair("inner", "inner(x0, x1)", torch.inner, shapes=(("N", 2, 5), (3, 5)), result=("N", 2, 3))
pair("tensordot", "tensordot(x0, x1)", torch.tensordot, shapes=(("N", 2, 3), (2, 3, 4)),
     result=("N", 4))
pair("kron", "kron(x0, x1)", torch.kron, shapes=(("N", 2), (3, 4)), result=("N * 3", 8))
pair("cross", "cross(x0, x1, 1)", lambda x, y: torch.cross(x, y, 1), shapes=(("N", 3), ("N", 3)),
     result=("N", 3))
pair("cross", "cross(x0, x1)", lambda x, y: torch.cross(x, y, 1), shapes=(("N", 3), ("N", 3)),
     result=("N", 3), note="no dim", sizes=(7, 17))
pair("addbmm", "addbmm(x0, x1, x2, beta=0.5, alpha=2)",
     lambda x, a, b: torch.addbmm(x, a, b, beta=0.5, alpha=2),
     shapes=((2, 3), ("N", 2, 4), ("N", 4, 3)), result=(2, 3), count=256)
for dtypes, factors, count in ((("f16", "bf16"), "0.5", 64), (("i32", "i8"), "3", 0)):
    function(
        "addbmm", f"addbmm(x0, x1, x2, beta={factors})", dtypes, [(2, 3), ("N", 2, 4), ("N", 4, 3)],
        (2, 3), lambda x, a, b, f=eval(factors): f * x + torch.bmm(a, b).sum(0, dtype=x.dtype),
        acc.rounded_before(
            acc.contraction(lambda x, a, b: 4 * a.shape[0] + 8,
                            lambda x, a, b: x + torch.bmm(a, b).sum(0))) if count else acc.exact,
        note="halves" if count else "integers")
pair("addr", "addr(x0, x1, x2, beta=0.5, alpha=2)",
     lambda x, a, b: torch.addr(x, a, b, beta=0.5, alpha=2), shapes=(("N", 3), ("N", ), (3, )),
     result=("N", 3))
pair("chain_matmul", "chain_matmul((x0, x1, x2))", lambda *x: torch.linalg.multi_dot(x),
     shapes=(("N", 3), (3, 4), (4, 2)), result=("N", 2), count=64)
pair("multi_dot", "multi_dot((x0, x1))", lambda *x: torch.linalg.multi_dot(x),
     shapes=(("N", 3), (3, 4)), result=("N", 4))
pair("vector_norm", "vector_norm(x0, 3, dim=1)", lambda x: torch.linalg.vector_norm(x, 3, 1),
     shapes=PLAIN, result=("N", ))
pair("frobenius_norm", "frobenius_norm(x0)", torch.linalg.norm, shapes=PLAIN, count=64)
for order in ('"fro"', "1", "-1", 'float("inf")', 'float("-inf")'):
    value = eval(order)
    pair("matrix_norm", f"matrix_norm(x0, {order})",
         lambda x, p=value: torch.linalg.matrix_norm(x, p), shapes=((2, "N", 5), ), result=(2, ),
         note=order.replace('"', ""), count=64)


def regular(x):
    return x + 4 * torch.eye(3, dtype=x.dtype)


REGULAR = "(x0 + 4 * eye(3))"
SQUARES = (("N", 3, 3),)
pair("matrix_power", f"matrix_power({REGULAR} * 0.25, 5)",
     lambda x: torch.matrix_power(regular(x) * 0.25, 5), shapes=SQUARES, result=("N", 3, 3),
     count=512, values=UNIT)
pair("inverse", f"inverse({REGULAR})", lambda x: torch.inverse(regular(x)), shapes=SQUARES,
     result=("N", 3, 3), values=UNIT)
pair("inv", "inv(x0)", torch.inverse, shapes=((3, 3),), result=(3, 3), values="weights", count=4096)
pair("solve", f"solve({REGULAR}, x1)", lambda x, b: torch.linalg.solve(regular(x), b),
     shapes=(("N", 3, 3), (3, 2)), result=("N", 3, 2), values=UNIT)
pair("solve", "solve(x0, x1)", torch.linalg.solve, shapes=((3, 3), (3, )), result=(3, ),
     values="weights", count=4096, note="vector")
pair("solve_triangular", f"solve_triangular({REGULAR}, x1, upper=true)",
     lambda x, b: torch.linalg.solve_triangular(regular(x), b, upper=True),
     shapes=(("N", 3, 3), ("N", 3, 2)), result=("N", 3, 2), values=UNIT)
pair("cholesky", f"cholesky(matmul({REGULAR}, {REGULAR}.mT))",
     lambda x: torch.linalg.cholesky(regular(x) @ regular(x).mT), shapes=SQUARES,
     result=("N", 3, 3), values=UNIT, count=64)
pair("cholesky", "cholesky(x0, upper=true)", lambda x: x, shapes=(("N", 0, 0), ),
     result=("N", 0, 0), note="of no elements")
pair("cholesky_solve", "cholesky_solve(x1, x0 + 4 * eye(3))",
     lambda x, b: torch.cholesky_solve(b, torch.tril(regular(x))), shapes=((3, 3), (3, 2)),
     result=(3, 2), kinds={0: ("f32", [0.0])})
pair("cholesky_inverse", "cholesky_inverse(tril(x0 + 4 * eye(3)))",
     lambda x: torch.cholesky_inverse(torch.tril(regular(x))), shapes=((3, 3), ), result=(3, 3),
     values=UNIT)
for number in (0, 1):
    pair("slogdet", f"slogdet({REGULAR})[{number}]",
         lambda x, i=number: torch.linalg.slogdet(regular(x))[i], shapes=SQUARES, result=("N", ),
         values=UNIT, note=f"result {number}")
pair("logdet", f"logdet({REGULAR})", lambda x: torch.logdet(regular(x)), shapes=SQUARES,
     result=("N", ), values=UNIT)
pair("tensordot", "tensordot(x0, x1, (0, -1), (2, 0))",
     lambda x, y: torch.tensordot(x, y, (
         (0, -1), (2, 0))), shapes=((5, "N", 3), (3, 2, 5)), result=("N", 2), note="pairs")
