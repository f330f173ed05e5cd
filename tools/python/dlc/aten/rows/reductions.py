"""Rows of ops that reduce dims, and that go along one."""

from ..call import dtype_text, number_text
from .elementwise import operand
from ..table import row, same

same(
    "amax amin argmax argmin all all.dim all.dims any any.dim any.dims max min logsumexp count_nonzero.dim_IntList count_nonzero cumsum cumprod "
    "cummax cummin logcumsumexp max.dim min.dim median median.dim nanmedian nanmedian.dim kthvalue aminmax nansum nanmean"
)


@row("_is_all_true", "_is_any_true")
def _is_true(call):
    return f"{call.name.split('_')[2]}({call('self')})"


@row("sum", "sum.dim_IntList", "mean", "mean.dim", "prod", "prod.dim_int")
def _sum(call):
    """In the dtype that the result has."""
    dtype = call.meta().dtype
    x = operand(call, call["self"], dtype)
    dim = call.get("dim")
    dims = [] if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    return call.function(
        call.name,
        x,
        call.text(dims),
        keepdim="true" if call.get("keepdim") else None,
        dtype=None if dtype.is_floating_point else dtype_text(dtype),
    )


@row(
    "std.correction",
    "var.correction",
    "std_mean.correction",
    "var_mean.correction",
    "var.dim",
    "std.dim",
    "var",
    "std",
)
def _variance(call):
    dim = call.get("dim")
    correction = call.get("correction", 1 if call.get("unbiased", True) else 0)
    correction = 1 if correction is None else correction
    if correction != int(correction):
        call.refuse(f"a correction of {correction}; dlc takes whole numbers")
    text = call.function(
        call.name,
        call("self"),
        call.text(list(dim or [])),
        correction=str(int(correction)),
        keepdim="true" if call.get("keepdim") else None,
    )
    return call.results(text, 2) if call.name.endswith("_mean") else text


@row("_softmax", "_log_softmax", "softmax.int", "log_softmax.int", "_safe_softmax")
def _softmax(call):
    dtype = call.meta().dtype
    name = "log_softmax" if "log_softmax" in call.name else "softmax"
    x = operand(call, call["self"], dtype)
    if call.name != "_safe_softmax":
        return f"{name}({x}, {call['dim']})"
    # A row that is wholly hidden gives zeros.
    hidden = call.emit(f"all({x} == float(\"-inf\"), {call['dim']}, keepdim=true)", "hidden")
    return f"where({hidden}, tensor(0.0, dtype={dtype_text(dtype)}), softmax({x}, {call['dim']}))"


@row("linalg_vector_norm")
def _vector_norm(call):
    dtype = call.meta().dtype
    dim = call["dim"]
    return call.function(
        "norm",
        operand(call, call["self"], dtype),
        p=number_text(float(call["ord"])),
        dim=(
            call.text(list(dim) if isinstance(dim, (list, tuple)) else [dim])
            if dim is not None
            else "[]"
        ),
        keepdim="true" if call["keepdim"] else None,
    )


@row("diff")
def _diff(call):
    dtype = call.meta().dtype
    given = (call["prepend"], call["self"], call["append"])
    parts = [operand(call, part, dtype) for part in given if part is not None]
    dim = call.dim()
    text = parts[0] if len(parts) == 1 else call.emit(f"cat([{', '.join(parts)}], dim={dim})")
    return call.function("diff", text, n=str(call["n"]), dim=str(dim))
