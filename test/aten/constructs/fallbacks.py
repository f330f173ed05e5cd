"""What torch.compile leaves to eager PyTorch, with one warning, and Python between graphs."""

import torch
from torch import nn

from constructs.construct import COMPILED, ROWS, case, rows

t = torch.randn
ONLY = {"ways": (COMPILED,)}


@case(lambda: rows(4, 4, 7), **ONLY)
def printing(x):
    y = x * 2
    print(end="")
    return y + 1


@case(lambda: [t(3, 3), t(3, 3)])
def eigenvalues(x):
    return torch.linalg.eigvalsh(x @ x.T + torch.eye(3)) * 2


@case(lambda: [t(3, 3), t(3, 3)])
def factorizations(x):
    return torch.linalg.svdvals(x), torch.linalg.svdvals(x + 1)


@case(lambda: [t(3, 3), t(3, 3)])
def solutions(x):
    y = x + 4 * torch.eye(3)
    return (
        torch.linalg.inv(y),
        torch.linalg.solve(y, x),
        torch.linalg.det(y),
        torch.linalg.matrix_power(x, 3),
    )


@case(lambda: [t(3, 4), t(3, 4)], **ONLY)
def sparse_product(x):
    return torch.sparse.mm(torch.relu(x).to_sparse(), x.T)


@case(lambda: [t(2, 3, 4), t(2, 3, 4)], **ONLY)
def nested_rows(x):
    return torch.nested.nested_tensor([x[0], x[1, :2]]).to_padded_tensor(0.0)


@case(lambda: rows(4, 4))
def mapped(x):
    return torch.vmap(lambda row: row.sin().sum())(x), torch.vmap(torch.dot)(x, x + 1)


@case(lambda: rows(4, 4), **ONLY)
def gradients_of_functions(x):
    return torch.func.grad(lambda y: (y**3).sum())(x), torch.func.jacrev(torch.sin)(x[0])


@case(lambda: rows(4, 4, 6), **ONLY)
def lists_of_python(x):
    names = sorted(f"{i}" for i in range(3))
    table = {name: x * i for i, name in enumerate(names)}
    try:
        raise KeyError(names[0])
    except KeyError:
        return sum(table.values()), {name: value.mean() for name, value in table.items()}


@case(lambda: rows(4, 4, 6), **ONLY)
def numpy_inside(x):
    return x + torch.from_numpy(x.numpy() * 2), x.numpy().shape


@case(lambda: rows(4, 4, 6), dynamic=ROWS)
class Generators(nn.Module):
    """Layers by a generator, a property and a static method."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({name: nn.Linear(5, 5) for name in "ab"})

    @property
    def names(self):
        return list(self.layers)

    @staticmethod
    def twice(x):
        return x * 2

    def forward(self, x):
        for name in (name for name in self.names if name != "c"):
            x = self.twice(self.layers[name](x))
        return x


@case(lambda: rows(4, 4, 6), **ONLY)
@torch._dynamo.disable
def left_alone(x):
    return x.cos()


@case(lambda: rows(4, 4, 6), **ONLY)
def partly_left_alone(x):
    return left_alone(x * 2) + 1


@case(lambda: rows(4, 4))
def half_of_a_transform(x):
    found = torch.fft.rfft(x)
    return found.abs(), torch.fft.irfft(found * 2, n=5)
