"""Calls that AOTAutograd keeps in the order of their effects."""

from .program import is_check


def without_checks(graph):
    """Drops the calls of a graph that only check, such as the error codes of a factorization. The
    token that they pass on, which is None in a run, goes past them."""
    dropped = False
    for node in list(graph.graph.nodes):
        if str(node.target) != "with_effects" or not is_check(node):
            continue
        if any(user.args[1] != 0 and user.users for user in node.users):
            continue
        for user in list(node.users):
            user.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(user)
        graph.graph.erase_node(node)
        dropped = True
    if dropped:
        graph.graph.eliminate_dead_code()
        graph.recompile()
    return graph
