"""PyTorch's own graphs as models of the language: torch.export's functional programs of ATen ops,
written as a .dl file.

`table.py` says how the rows work, which are in `rows`; `program.py` walks a program, `sizes.py`
writes its sizes, `export.py` makes the program of a module."""
