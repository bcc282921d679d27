"""What an expression is evaluated against."""

from typing import Protocol

from kyvsim.kube.objects import Json


class RuleScope(Protocol):
    """The data of one rule evaluation; entries that cost something load when they are asked for."""

    deleting: bool
    """Whether the request is a DELETE: `request.object` in variables then reads the old object."""

    def root(self, names: frozenset[str]) -> Json:
        """Return the data queries run on, with the top-level `names` loaded if they are entries.

        Raises `QueryError` where such an entry cannot be loaded.
        """
