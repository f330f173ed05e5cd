"""Rows of tables whose rows indices name."""

from ..call import number_text
from ..table import row


@row("embedding")
def _embedding(call):
    padding = call.get("padding_idx", -1)
    more = f", padding_idx={padding}" if padding >= 0 else ""
    return f"embedding({call('indices')}, {call('weight')}{more})"


@row("embedding_renorm")
def _renormed(call):
    """The rows that indices name, scaled down to the largest norm."""
    weight, most = call("self"), number_text(float(call["max_norm"]))
    rows = call.size(call.shape(call["self"])[0])
    power = number_text(float(call["norm_type"]))
    norm = call.emit(f"norm({weight}, p={power}, dim=[1], keepdim=true)", "norm")
    flat = f"reshape(to({call('indices')}, i64), [-1])"
    named = call.emit(f"index_fill(zeros({rows}, dtype=i64), 0, {flat}, tensor(1))", "named")
    is_large = f"({norm} > {most}) & (unsqueeze({named}, 1) == 1)"
    return f"where({is_large}, {weight} * ({most} / ({norm} + 1e-7)), {weight})"


@row("embedding_bag", "embedding_bag.padding_idx", "_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(call):
    if any(call.is_used(i) for i in (1, 2, 3)):
        call.refuse("what only the gradient of an embedding bag reads")
    padding = call.get("padding_idx")
    if call.name == "embedding_bag" and padding is not None and padding < 0:
        padding += call.meta(call["weight"]).shape[0]
    named = {
        "mode": f'"{("sum", "mean", "max")[call["mode"]]}"',
        "per_sample_weights": call.optional("per_sample_weights"),
        "include_last_offset": "true" if call["include_last_offset"] else None,
        "padding_idx": str(padding) if padding is not None and padding >= 0 else None,
    }
    return [
        call.emit(
            call.function(
                "embedding_bag", call("indices"), call("weight"), call("offsets"), **named
            )
        ),
        None,
        None,
        None,
    ]
