"""Results that share memory with inputs or with each other, and inputs that are written."""

import torch

from constructs.construct import COMPILED, ROWS, case, rows

t = torch.randn
SHARED = {"ways": (COMPILED,), "shares": True}


@case(lambda: rows(4, 4, 2), shares=True, ways=(COMPILED,))
def views_of_inputs(x):
    return x.T, x[1:], x.view(-1), x.unsqueeze(0), x * 2


@case(lambda: rows(4, 4, 2))
def views_of_inputs_by_value(x):
    return x.T, x[1:], x.view(-1), x.expand(2, *x.shape), x


@case(lambda: rows(4, 4, 2), **SHARED)
def an_input_itself(x):
    return x, x + 1, x.detach()


@case(lambda: rows(4, 4, 2), **SHARED)
def results_that_share(x):
    y = x + 1
    return y, y[0], y.view(-1), y * 2, y


@case(lambda: rows(4, 4), **SHARED)
def expanded_results(x):
    y = x.sum(0, keepdim=True)
    return y.expand(3, 5), y, x.expand(2, *x.shape)


@case(lambda: rows(4, 4, 7), dynamic=ROWS)
def input_written(x):
    x.mul_(2).add_(1)
    return x.sum(0)


@case(lambda: [(t(3, 4), t(4)) for _ in range(3)])
def both_inputs_written(x, y):
    x[1:] += y
    y.copy_(x[0] * 2)
    x.clamp_(min=0)
    return x * y


@case(lambda: [(t(3, 4), t(4)) for _ in range(2)])
def part_of_an_input_written(x, y):
    x[:, 1] = y[:3]
    x.view(-1)[::5].zero_()
    return y - 1


@case(lambda: rows(4, 4), **SHARED)
def input_written_and_returned(x):
    x.relu_()
    return x, x[0], x.exp()


@case(lambda: rows(3, 3), **SHARED)
def nothing_but_a_write(x):
    x.neg_()


@case(lambda: [(x, x) for (x,) in rows(3, 3)], **SHARED)
def one_tensor_twice(x, y):
    x.add_(1)
    return y * 2


@case(lambda: [(x, x[1:]) for (x,) in rows(4, 4)], **SHARED)
def inputs_that_overlap(x, y):
    y.mul_(3)
    return x + 1, y.sum()


@case(lambda: rows(4, 4), **SHARED)
def written_between_graphs(x):
    """Python between two graphs writes into a view that the first has made."""
    y = x * 2
    row = y[0]
    torch._dynamo.graph_break()
    row.add_(50.0)
    torch._dynamo.graph_break()
    return y + 1, row


@case(lambda: rows(4, 4), **SHARED)
def a_reshape_that_may_copy(x):
    y = torch.ones(5) * x[0]
    same, other = y.reshape(5), x.T.reshape(-1)

    def inner():
        same[1] = -4
        return bool(other.sum() > -1e6)

    return y[:3] + 1 if inner() else y, same


@case(lambda: rows(4, 4), **SHARED)
def strides_between_graphs(x):
    y = (x * 2).T
    torch._dynamo.graph_break()
    return y.is_contiguous(), y.stride(), y.T.view(-1)


@case(lambda: [t(2, 3, 4, 5).to(memory_format=torch.channels_last) for _ in range(2)], **SHARED)
def channels_last_between_graphs(x):
    y = x.relu() + 1
    torch._dynamo.graph_break()
    is_last = y.is_contiguous(memory_format=torch.channels_last)
    return is_last, y.stride(), y.permute(0, 2, 3, 1).view(-1)


@case(lambda: [(t(2, 3), t(3, 2)) for _ in range(2)], **SHARED)
def data_swapped(x, y):
    z = x.clone()
    z.set_(y * 2)
    w = x.clone()
    w.data = w.data + 1
    return z + 0, w
