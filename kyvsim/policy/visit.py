"""The one way through the tree of a policy."""

from collections.abc import Iterator

from kyvsim.policy.tree import Node


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below a node, in the order of its fields."""
    for value in node:
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (one for one in value if isinstance(one, Node))


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, each before what it contains.

    Goes down without recursion: documents may be deep.
    """
    pending = [node]
    while pending:
        one = pending.pop()
        yield one
        pending += reversed(tuple(children(one)))
