"""PyTorch's flex_attention, whose graphs say what a score becomes and which scores count. Both are
traced for all scores at once."""

import torch
from torch.utils import _pytree as pytree

from .control import op, uses
from ..failure import ExportFailure
from .subgraph import held_graph, inside, is_graph, operands_of, run


@op("flex_attention")
def _flex_attention(program, node):
    """Without the blocks, which only say which scores need not be computed."""
    used = uses(node, 3)
    leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
    nodes = [leaf for leaf in leaves if isinstance(leaf, torch.fx.Node)]
    nodes = list(dict.fromkeys(leaf for leaf in nodes if not is_graph(leaf)))
    graphs = {leaf: held_graph(leaf) for leaf in node.all_input_nodes if is_graph(leaf)}

    def function(*values):
        known = {**graphs, **dict(zip(nodes, values))}
        given = [known.get(leaf) if isinstance(leaf, torch.fx.Node) else leaf for leaf in leaves]
        arguments, named = pytree.tree_unflatten(given, spec)
        return _attention(*arguments, **named, needs_all=any(used[1:]))

    graph = _traced(function, [leaf.meta["val"] for leaf in nodes])
    given = operands_of(program, nodes)
    with inside(program, graph, 0):
        results = run(program, graph, given)
        texts = [program.value(value) for value in results]
    return texts + [None] * (3 - len(texts))


def _traced(function, values):
    """The graph of a function of fake tensors, in ATen's ops that have rows."""
    from torch._guards import detect_fake_mode
    from torch.fx.experimental.proxy_tensor import make_fx

    from ..export import decompositions_of_aot

    try:
        with detect_fake_mode(values), torch.no_grad():
            graph = make_fx(function, decomposition_table=decompositions_of_aot())(*values)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise ExportFailure(f"PyTorch cannot trace it: {error}") from None
    graph.graph.eliminate_dead_code()
    return graph


def _attention(
    query,
    key,
    value,
    score_mod,
    block_mask,
    scale,
    kernel_options,
    score_buffers=(),
    mask_buffers=(),
    needs_all=False,
):
    """One fused attention where the scores stay as they are, else as PyTorch defines it."""
    from torch._higher_order_ops.flex_attention import math_attention

    mask_mod = block_mask[-1]
    if needs_all or not _gives_its_score(score_mod) or query.shape[0] != key.shape[0]:
        found = math_attention(
            query,
            key,
            value,
            score_mod,
            block_mask,
            scale,
            kernel_options,
            score_buffers,
            mask_buffers,
        )
        return found if needs_all else found[:1]
    attention = torch.nn.functional.scaled_dot_product_attention
    mask = None if _is_always_true(mask_mod) else _mask(mask_mod, query, key, mask_buffers)
    is_grouped = query.shape[1] != key.shape[1]
    return (attention(query, key, value, attn_mask=mask, scale=scale, enable_gqa=is_grouped),)


def _mask(mask_mod, query, key, buffers):
    """Which scores count, of each batch and head."""
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    from torch.nn.attention.flex_attention import _vmap_for_bhqkv

    sizes = (*query.shape[:3], key.shape[2])
    places = [torch.arange(size, device=query.device) for size in sizes]
    of_all = _vmap_for_bhqkv(mask_mod, prefix=(), suffix=(None,) * len(buffers))
    with TransformGetItemToIndex():
        return of_all(*places, *buffers)


def _output(graph):
    found = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    return found[0] if isinstance(found, (list, tuple)) else found


def _gives_its_score(graph):
    return _output(graph) is next(iter(graph.graph.nodes))


def _is_always_true(graph):
    """Whether a mask is PyTorch's for no mask, which is full of ones."""
    found = _output(graph)
    if not isinstance(found, torch.fx.Node) or found.op != "call_function":
        return False
    if found.target == torch.ops.aten.full.default:
        return found.args[1] is True
    return found.target in (torch.ops.aten.new_ones.default, torch.ops.aten.ones.default)
