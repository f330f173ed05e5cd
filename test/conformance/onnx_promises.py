"""What ONNX's ops promise of the random numbers that they draw: no stored result is theirs, so that
their range, their share of zeros and their scale are checked, and that a seed gives the same
numbers again."""
import numpy as np

DRAWING = {
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike"
}
# How many deviations of what so many numbers give on average is too far.
DEVIATIONS = 5


def draws(nodes, arrays):
    """Whether a graph draws numbers. `nodes`: (op, names of inputs, names of attributes); `arrays`: the
    inputs that are known. A Dropout does in training, with another ratio than 0."""
    def is_zero(names, place):
        return place < len(names) and names[place] in arrays and not np.any(arrays[names[place]])

    return any(
        op in DRAWING
        or op == "Dropout" and len(names) > 2 and not is_zero(names, 1) and not is_zero(names, 2)
        for op, names, _ in nodes)


def bernoulli(inputs, outputs):
    """None, or what is wrong."""
    p, y = inputs[0].astype(np.float64), outputs[0].astype(np.float64)
    if not np.all((y == 0) | (y == 1)):
        return "a number is neither 0 nor 1"
    if np.any(y[p <= 0]) or not np.all(y[p >= 1]):
        return "a number of probability 0 or 1 is the other one"
    # As many ones as p says, and where p is large more of them than where it is small.
    for what, factor in (("ones", np.ones_like(p)), ("ones, counted by how far p is from its mean",
                                                     p - p.mean())):
        error = DEVIATIONS * np.sqrt(np.sum(p * (1 - p) * factor**2))
        if abs(np.sum((y - p) * factor)) > error:
            return f"{np.sum(y * factor)} {what}, expected {np.sum(p * factor)} within {error}"
    return None


def dropout(inputs, outputs):
    """None, or what is wrong."""
    x, y = inputs[0].astype(np.float64), outputs[0].astype(np.float64)
    ratio = float(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else 0.5
    is_kept = outputs[1].astype(bool) if len(outputs) > 1 else y != 0
    if not np.allclose(y, np.where(is_kept, x / (1 - ratio), 0), rtol=1e-5, atol=0):
        return "an element is neither 0 nor x / (1 - ratio), or not what the mask says"
    error = DEVIATIONS * np.sqrt(x.size * ratio * (1 - ratio))
    dropped = np.count_nonzero(~is_kept)
    return None if abs(
        dropped - x.size * ratio
    ) <= error else f"{dropped} of {x.size} dropped, expected {ratio} of them within {error}"


PROMISES = {"Bernoulli": bernoulli, "Dropout": dropout}
