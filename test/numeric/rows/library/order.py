"""Order, running results and statistics."""
import torch

from rows.library.called import NUMBERS, PLAIN, SPECIAL, UNIT, each, pair

pair("diff", "diff(x0, 2, prepend=x1)", lambda x, p: torch.diff(x, 2, prepend=p),
     shapes=(("N", 5), ("N", 2)), result=("N", 5), count=8)
for number in (0, 1):
    pair("std_mean", f"std_mean(x0, 1)[{number}]", lambda x, i=number: torch.std_mean(x, 1)[i],
         shapes=PLAIN, result=("N", ), note=f"result {number}")
    pair("aminmax", f"aminmax(x0, 1)[{number}]", lambda x, i=number: torch.aminmax(x, dim=1)[i],
         shapes=PLAIN, result=("N", ), count=0, note=f"result {number}")
    tell = dict(note=f"result {number}", result_dtype="i64" if number else None,
                shapes=((3, "N"), ), result=(3, ), dtypes=("f32", "i32"))
    for name in ("kthvalue", "median"):
        more = "1, " if name == "kthvalue" else ""
        each(
            name, lambda x, i=number, n=name:
            (torch.kthvalue(x, 1, 1)
             if n == "kthvalue" else torch.median(x, 1))[i], f"{name}(x0, {more}1)[{number}]", 0, **
            {**tell, "values": "normal"}) if not number else None
    for name in ("cummax", "cummin"):
        each(name, lambda x, i=number, n=name: getattr(torch, n)(x, 1)[i],
             f"{name}(x0, 1)[{number}]", 0, **{**tell, "result": (3, "N"), "values": "normal"})
each("median", torch.median, "median(x0)", 0, ((3, "N"),), result=(), values="normal", note="all")
each("median", torch.median, "median(x0)", 0, ((3, "N"),), result=(), values=SPECIAL, note="NaN")
each("nanmedian", torch.nanmedian, "nanmedian(x0)", 0, ((3, "N"),), result=(), values=SPECIAL)
each("nanmedian", lambda x: torch.nanmedian(x, 1)[0], "nanmedian(x0, 1)[0]", 0, ((3, "N"), ),
     result=(3, ), values=SPECIAL, note="dim")
each("nansum", lambda x: torch.nansum(x, 1), "nansum(x0, 1)", 32, PLAIN, result=("N",))
each("nanmean", lambda x: torch.nanmean(x, 1), "nanmean(x0, 1)", 32, PLAIN, result=("N",))
pair("dist", "dist(x0, x1, 3)", lambda x, y: torch.dist(x, y, 3), count=128)
pair("pdist", "pdist(x0)", torch.pdist, shapes=((7, 5),), result=(21,), count=64)
pair("pdist", "pdist(x0, 1)", lambda x: torch.pdist(x, 1), shapes=((4, "N"), ), result=(6, ),
     note="p=1")
BOUNDS = {0: ("f32", "normal")}
for right in (False, True):
    said = str(right).lower()
    each("searchsorted", lambda s, x, r=right: torch.searchsorted(s.sort().values, x, right=r),
         f"searchsorted(sort(x0)[0], x1, right={said})", 0, ((3, "N"), (3, 4)), result=(3, 4),
         result_dtype="i64", values=NUMBERS, note=f"right {said}")
    each("bucketize", lambda x, b, r=right: torch.bucketize(x,
                                                            b.sort().values, right=r),
         f"bucketize(x0, sort(x1)[0], right={said})", 0, (("N", 3), (4, )), result_dtype="i64",
         values=NUMBERS, note=f"right {said}")
each("isin", torch.isin, "isin(x0, x1)", 0, (("N", 3), (4, )), result_dtype="i1",
     dtypes=("f32", "i32"), values=range(9))
each("msort", torch.msort, "msort(x0)", 0, values="normal", shapes=PLAIN)
for kind in ("linear", "lower", "higher", "midpoint", "nearest"):
    each("quantile", lambda x, q, k=kind: torch.quantile(x, q.clamp(0, 1), 1, interpolation=k),
         f'quantile(x0, clamp(x1, 0, 1), 1, interpolation="{kind}")', 32, ((3, "N"), (4, )),
         result=(4, 3), dtypes=("f64", ), values=UNIT, note=kind)
each("quantile", lambda x: torch.quantile(x, 0.25), "quantile(x0, 0.25)", 32, ((3, "N"), ),
     result=(), values="normal", note="all")
each("nanquantile", lambda x: torch.nanquantile(x, 0.5, 1, keepdim=True),
     "nanquantile(x0, 0.5, 1, keepdim=true)", 32, ((3, "N"), ), result=(3, 1),
     values=NUMBERS + [float("nan")])
pair("logcumsumexp", "logcumsumexp(x0, 1)", lambda x: torch.logcumsumexp(x, 1), shapes=((3, "N"), ),
     result=(3, "N"))
pair("trapezoid", "trapezoid(x0, x1)", torch.trapezoid, shapes=(("N", 5), (5,)), result=("N",))
pair("trapz", "trapz(x0, dx=0.5, dim=0)", lambda x: torch.trapezoid(x, dx=0.5, dim=0), shapes=PLAIN,
     result=(5, ))
pair("cumulative_trapezoid", "cumulative_trapezoid(x0, x1, dim=0)",
     lambda x, t: torch.cumulative_trapezoid(x, t, dim=0), shapes=((5, "N"), (5, )),
     result=(4, "N"))
pair("cov", "cov(x0)", torch.cov, shapes=((3, "N"),), result=(3, 3), sizes=(2, 7, 33), count=64)
pair("corrcoef", "corrcoef(x0)", torch.corrcoef, shapes=((3, "N"), ), result=(3, 3), sizes=(7, 33),
     count=64)
pair("renorm", "renorm(x0, 2, 0, 1.5)", lambda x: torch.renorm(x, 2, 0, 1.5), shapes=PLAIN,
     result=("N", 5))
for number in (0, 1):
    pair("std_mean", f"std_mean(x0, 1, correction=0)[{number}]",
         lambda x, i=number: torch.std_mean(x, 1, unbiased=False)[i], shapes=PLAIN, result=("N", ),
         note=f"correction, result {number}")
pair("cov", "cov(x0, fweights=x1, aweights=x2)",
     lambda x, f, a: torch.cov(x, fweights=f, aweights=a), shapes=((3, "N"), ("N", ), ("N", )),
     result=(3, 3), sizes=(7, 33), count=64, note="weights",
     kinds={1: ("i64", [1, 2, 3]), 2: ("f32", [0.5, 1.0, 2.0])})
for number in (0, 1):
    # All dims, and a correction that is not whole.
    pair("std_mean", f"std_mean(x0, None, correction=2)[{number}]",
         lambda x, i=number: torch.std_mean(x, (0, 1), correction=2)[i], shapes=PLAIN,
         note=f"all dims, result {number}")
    pair("std_mean", f"std_mean(x0, 1, correction=0.5)[{number}]", lambda x, i=number: ((
        (x - x.mean(1, True))**2).sum(1).div(4.5).sqrt(), x.mean(1))[i], shapes=PLAIN,
         result=("N", ), note=f"half, result {number}")
