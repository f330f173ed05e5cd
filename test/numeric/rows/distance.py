"""How far vectors lie from one another."""
import torch
import torch.nn.functional as F

import accuracy as acc
from rows.row import FLOATS, POSITIVE, row


def norms(difference, p):
    """The norm over the last dim; PyTorch 1.13 divides by its eps where it is 0."""
    return torch.linalg.vector_norm(difference, p, -1)


def cosine(a, b, dim=1, eps=1e-8):
    size = lambda x: torch.linalg.vector_norm(x, 2, dim).clamp_min(eps)
    return (a * b).sum(dim) / (size(a) * size(b))


def of_cosine(dim):
    """The products lose a unit for each term of their absolute values, the norms few of the result.
    """
    def bound(y, inputs, dtype):
        a, b = (x.double() for x in inputs)
        terms = torch.broadcast_tensors(a, b)[0].shape[dim]
        size = cosine(a.abs(), b.abs(), dim).numpy() if y.size else abs(y)
        return (2 * terms + 16) * acc.unit(acc.compute(dtype)) * size + acc.stored(dtype, y)
    return bound


def of_distance(pairs, eps=0.0):
    """A difference loses one unit of itself, as the inputs are exact, and one of eps; the norm a
    unit for each term."""
    def bound(y, inputs, dtype):
        terms = inputs[0].shape[-1]
        slack = terms * (4 * abs(eps) + 1e-300) * acc.unit(acc.compute(dtype))
        return (2 * terms + 16) * acc.unit(acc.compute(dtype)) * abs(y) + slack + acc.stored(
            dtype, y)
    return bound


row("cosine_similarity", FLOATS, [("N", 9), ("N", 9)], ("N", ), F.cosine_similarity, of_cosine(1),
    values="normal")
row("cosine_similarity", FLOATS, [(3, "N"), (3, "N")], (3, ), cosine, of_cosine(1), sizes=POSITIVE,
    values="normal", note="over N")
row("cosine_similarity", ("f32", ), [("N", 1, 5), (4, 5)], ("N", 4), lambda a, b: cosine(a, b, -1),
    of_cosine(-1), attrs="{dim = -1 : i64}", values="normal", note="broadcast")
row(
    "cosine_similarity", ("f32", ), [("N", 9), ("N", 9)], ("N", ), lambda a, b: cosine(a * 0, b),
    attrs="{eps = 0.5 : f64}", values="normal", note="of zeros", body=lambda names, types, result:
    (f"%z = dl.sub {names[0]}, {names[0]} : ({types[0]}, {types[0]}) -> {types[0]}\n"
     f"%y = dl.cosine_similarity %z, {names[1]} {{eps = 0.5 : f64}} : ({types[0]}, {types[1]}) -> {result}"
     ))
for p in (2.0, 1.0, 3.0):
    row("pairwise_distance", FLOATS if p == 2 else ("f32", ),
        [("N", 9), ("N", 9)], ("N", ), lambda a, b, p=p: norms(a - b + 1e-6, p),
        of_distance(False, 1e-6), attrs=f"{{p = {p} : f64}}", values="normal", note=f"p = {p}")
    row("cdist", FLOATS if p == 2 else ("f32", ),
        [("N", 9), (5, 9)], ("N", 5), lambda a, b, p=p: norms(a[:, None] - b[None], p),
        of_distance(True), attrs=f"{{p = {p} : f64}}", values="normal", note=f"p = {p}")
row("pairwise_distance", ("f32", ),
    [(3, 1, 4), ("N", 4)], (3, "N", 1), lambda a, b: norms(a - b + 0.5, 2)[..., None],
    of_distance(False,
                0.5), attrs="{eps = 0.5 : f64, keepdim = true}", values="normal", note="broadcast")
row("cdist", ("f32", ),
    [(2, 1, 3, 4),
     (5, "N", 4)], (2, 5, 3, "N"), lambda a, b: norms(a[..., :, None, :] - b[..., None, :, :], 2),
    of_distance(True), values="normal", note="batched")
row("cdist", ("f32", ), [("N", 4),
                         ("N", 4)], ("N", "N"), lambda a, b: norms(a[:, None] - b[None], 2),
    of_distance(True), values="normal", sizes=(1, 5, 33), note="N pairs")
