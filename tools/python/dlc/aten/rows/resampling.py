"""Rows of ops that bring images to another size, or read them elsewhere."""

import torch

from ..call import number_text
from ..table import row

_MODES = {
    "nearest1d": "nearest",
    "nearest2d": "nearest",
    "nearest3d": "nearest",
    "linear1d": "linear",
    "bilinear2d": "bilinear",
    "bicubic2d": "bicubic",
    "trilinear3d": "trilinear",
    "_nearest_exact1d": "nearest-exact",
    "_nearest_exact2d": "nearest-exact",
    "_nearest_exact3d": "nearest-exact",
}


def _overloads(kind):
    for mode in _MODES:
        name = "upsample_" + mode if mode[0] != "_" else "_upsample" + mode
        yield f"{name}.{kind}"


def _interpolated(call, name, **named):
    mode = call.name[len("upsample_") :] if call.name[0] != "_" else call.name[len("_upsample") :]
    return call.function(
        "interpolate",
        call(name),
        **named,
        mode=f'"{_MODES[mode]}"',
        align_corners="true" if call.get("align_corners") else None,
    )


@row(*_overloads("vec"))
def _upsample(call):
    size, factors = call["output_size"], call["scale_factors"]
    return _interpolated(
        call,
        "input",
        size=call.sizes(size) if size is not None else None,
        scale_factor=f"[{', '.join(map(number_text, factors))}]" if factors else None,
    )


def _scales(call):
    """The scales of an overload that has a size, too; None where there is none."""
    return [
        call[name]
        for name in ("scales", "scales_d", "scales_h", "scales_w")
        if name in call.arguments
    ]


@row(*_overloads("default"))
def _upsample_to(call):
    """Scales that give the size take its place, since PyTorch reads at steps of 1 / scale."""
    size, scales = call["output_size"], _scales(call)
    own = call.shape(call["self"])[2:]
    is_nearest, steps = "nearest" in call.name, []
    for extent, scale, count in zip(own, scales, size):
        if not all(
            isinstance(number, (int, float, type(None))) for number in (extent, scale, count)
        ):
            call.refuse("a size or a scale that is computed")
        steps.append(scale if scale and scale > 0 else None)
    if call.get("align_corners") and not is_nearest or not any(steps):
        return _interpolated(call, "self", size=call.sizes(size))
    if all(
        step is None and count == extent or step is not None and int(extent * step) == count
        for extent, step, count in zip(own, steps, size)
    ):
        factors = ", ".join(number_text(float(step or 1)) for step in steps)
        return _interpolated(call, "self", scale_factor=f"[{factors}]")
    call.refuse("scales that do not give the size")


@row("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
def _upsample_smooth(call):
    """Both dims are products with matrices, which PyTorch's own op gives of unit vectors."""
    x, sizes = call["self"], call["output_size"]
    rows, columns = call.shape(x)[2:]
    if not all(isinstance(number, int) for number in (rows, columns, *sizes)):
        call.refuse("sizes that vary, with antialias")
    dtype = call.meta().dtype
    if dtype not in (torch.float32, torch.float64):
        call.refuse(f"antialias of {str(dtype)[6:]}")
    # PyTorch's op gives other numbers for images of one row or column.
    op, corners = call.node.target, call["align_corners"]
    high = torch.eye(rows, dtype=dtype)[None, :, :, None].expand(-1, -1, -1, 4).contiguous()
    wide = torch.eye(columns, dtype=dtype)[None, :, None].expand(-1, -1, 4, -1).contiguous()
    high = op(high, [sizes[0], 4], corners, call["scales_h"])
    wide = op(wide, [4, sizes[1]], corners, None, call["scales_w"])
    left = call.program.constant(high[0, :, :, 0].t().contiguous(), "rows")
    right = call.program.constant(wide[0, :, 0].contiguous(), "columns")
    return f"matmul(matmul({left}, {call('self')}), {right})"


@row("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(call):
    mode = ("bilinear", "nearest", "bicubic")[call["interpolation_mode"]]
    border = ("zeros", "border", "reflection")[call["padding_mode"]]
    return call.function(
        "grid_sample",
        call("input"),
        call("grid"),
        mode=f'"{mode}"',
        padding_mode=f'"{border}"',
        align_corners="true" if call["align_corners"] else "false",
    )


@row("affine_grid_generator")
def _affine_grid(call):
    return call.function(
        "affine_grid",
        call("theta"),
        call.sizes(call["size"]),
        align_corners="true" if call["align_corners"] else "false",
    )


@row("torchvision::roi_align")
def _roi_align(call):
    return call.function(
        "roi_align",
        call("input"),
        call("rois"),
        call.sizes([call["pooled_height"], call["pooled_width"]]),
        spatial_scale=number_text(float(call["spatial_scale"])),
        sampling_ratio=str(call["sampling_ratio"]),
        aligned="true" if call["aligned"] else None,
    )
