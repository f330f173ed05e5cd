#!/usr/bin/env python3
"""From a PyTorch module to a model of dlc: model.dl, which can be read and changed, and
model.safetensors beside it.

    export_torch.py torchvision.models:resnet50 --input x=1x3x224x224xf32 --dynamic x:0=N -o
    resnet50.dl export_torch.py nets.py:make_bert --input ids=1x16xi64 --dynamic ids:0=N,ids:1=T
    --state bert.pth -o bert.dl

The first argument says where a module comes from: a Python module or file, and what in it gives a
torch.nn.Module when it is called. From Python, `export(module, {"x": example}, "model.dl",
dynamic={"x": {0: "N"}})` does the same.

torch.export's graph of ATen ops becomes the text; it needs PyTorch 2.5 or later. What cannot be
said is told with the op and the line of the module. Inputs are examples: shapes and dtypes count,
and what the module decides by their values is checked in each run."""
import argparse
import collections
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ExportError(Exception):
    """What the user can do something about."""


def find_dlc():
    """The dlc of this checkout's build, of DLC_TOOL, or of the PATH."""
    built = os.path.join(os.environ.get("DLC_BUILD_DIR", os.path.join(ROOT, "build")), "bin", "dlc")
    found = os.environ.get("DLC_TOOL") or (built if os.path.exists(built) else shutil.which("dlc"))
    if not found:
        raise ExportError(
            f"there is no dlc in {os.path.dirname(built)} nor in PATH; build it, or name it in DLC_TOOL"
        )
    return found


def written(module, inputs, folder, outputs, dynamic):
    """The .dl file of a module in `folder`."""
    import torch
    if not hasattr(getattr(torch, "export", None), "default_decompositions"):
        raise ExportError(f"the export needs PyTorch 2.5 or later, this is {torch.__version__}; 'dlc import' reads the ONNX file that "
                          "torch.onnx.export writes")
    # The package by itself, unless a program has dlc already.
    sys.path.insert(0, os.path.join(ROOT, "tools", "python", "dlc"))
    package = "dlc.aten" if "dlc" in sys.modules else "aten"
    programs = importlib.import_module(package + ".export")
    ExportFailure = importlib.import_module(package + ".failure").ExportFailure
    try:
        # By place: what the inputs are called here need not be the names of forward's parameters.
        names = programs.Structure(module, tuple(inputs.values())).labels
        dims = {
            label: dict(dynamic[name]) for label, name in zip(names, inputs)
            if name in (dynamic or {})
        }
        unknown = sorted(set(dynamic or {}) - set(inputs))
        if unknown:
            raise ExportError(
                f"dynamic names {', '.join(unknown)}; the inputs are {', '.join(inputs)}")
        return programs.write(module, tuple(inputs.values()), folder, outputs, dims,
                              names=list(inputs))[0]
    except ExportFailure as failure:
        raise ExportError(str(failure)) from None


def export(module, inputs, output, outputs=None, dynamic=None, weights=None, force=False):
    """Writes `output` (a .dl file) and its weights for `module`, called with the tensors of
    `inputs` (name: tensor, in the order of forward's parameters). `outputs` names the results;
    `dynamic` says which dims are symbols: {"x": {0: "N"}}. `weights` names the weights file;
    otherwise it is named after `output`. Files that exist are replaced only where `force` is true.
    """
    tool = find_dlc()
    with tempfile.TemporaryDirectory() as folder:
        path = written(module, inputs, folder, outputs, dynamic)
        command = [tool, "import", path, "-o", output, *(["--weights", weights] if weights else []),
                   *(["--force"] if force else [])]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise ExportError(run.stderr.strip().replace(path, type(module).__name__))
        sys.stderr.write(run.stderr)


def load(source):
    """What 'package.module:name' or 'file.py:name' stands for."""
    place, colon, name = source.rpartition(":")
    if not colon or not name:
        raise ExportError(
            f"expected MODULE:NAME, as in torchvision.models:resnet50, got '{source}'")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
            module = importlib.util.module_from_spec(spec)
            sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except (ImportError, FileNotFoundError) as error:
        raise ExportError(f"cannot load '{place}': {error}") from None
    if not hasattr(module, name):
        raise ExportError(f"'{place}' has no '{name}'")
    return getattr(module, name)


def parse_inputs(texts):
    """{"x": a tensor} from "x=1x3x8x8xf32": zeros of integers, else seeded noise."""
    import torch
    dtypes = {
        "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
        "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8,
        "u8": torch.uint8, "bool": torch.bool
    }
    generator = torch.Generator().manual_seed(0)
    made = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        *dims, dtype = rest.split("x")
        if not name or not equals or dtype not in dtypes or not all(dim.isdigit() for dim in dims):
            raise ExportError(f"--input: expected NAME=SHAPExDTYPE, as in x=1x3x224x224xf32, got '{text}'; "
                              f"dtypes are {', '.join(dtypes)}")
        shape, dtype = [int(dim) for dim in dims], dtypes[dtype]
        made[name] = (torch.randn(shape, generator=generator).to(dtype) if dtype.is_floating_point
                      else torch.zeros(shape, dtype=dtype))
    return made


def parse_dynamic(text):
    """{"x": {0: "N"}} from "x:0=N"."""
    axes = collections.defaultdict(dict)
    for part in filter(None, text.split(",")):
        place, equals, symbol = part.partition("=")
        name, colon, dim = place.rpartition(":")
        if not (equals and colon and dim.isdigit() and symbol.isidentifier()):
            raise ExportError(f"--dynamic: expected INPUT:DIM=SYMBOL, as in x:0=N, got '{part}'")
        axes[name][int(dim)] = symbol
    return axes


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="MODULE:NAME",
                        help="what gives the torch.nn.Module when it is called")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL.dl")
    parser.add_argument(
        "--input", action="append", required=True, metavar="NAME=SHAPExDTYPE",
        help="an example of each input, in the order of forward's parameters: x=1x3x224x224xf32")
    parser.add_argument("--outputs", default="", metavar="A,B", help="names of the results")
    parser.add_argument("--dynamic", default="", metavar="NAME:DIM=SYMBOL,...",
                        help="dims of any size: x:0=N,x:1=T")
    parser.add_argument("--state", metavar="FILE.pth",
                        help="a state_dict that torch.save wrote, loaded into the module")
    parser.add_argument("--weights", metavar="FILE.safetensors",
                        help="otherwise named after the .dl file")
    parser.add_argument("--force", action="store_true",
                        help="replace the .dl file and its weights where they exist")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        parser.error(
            "this Python has no PyTorch; run the script with the one in which your model lives")
    try:
        module = load(options.source)()
        if not isinstance(module, torch.nn.Module):
            raise ExportError(
                f"'{options.source}' gives a {type(module).__name__}, expected a torch.nn.Module")
        if options.state:
            module.load_state_dict(torch.load(options.state, map_location="cpu"))
        export(module, parse_inputs(options.input), options.output,
               list(filter(None, options.outputs.split(","))) or None,
               parse_dynamic(options.dynamic), options.weights, options.force)
    except ExportError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
