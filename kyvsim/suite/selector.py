"""The test case selector: `policy=…,rule=…,resource=…` with wildcards.

upstream: cmd/cli/kubectl-kyverno/test/filter
"""

from typing import NamedTuple

from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.suite import ExpectedRow


class SelectorError(ValueError):
    """Text that is no selector."""


class Selector(NamedTuple):
    """Patterns that all must fit; a row that leaves a field empty fits every pattern."""

    policies: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()

    def narrow(self, row: ExpectedRow, *, lenient: bool) -> ExpectedRow | None:
        """Return the row with the resources that are selected, None where it is not.

        The reference program checks the patterns in place of the row's resources, literally.
        """
        if row.policy and not all(matches(one, row.policy) for one in self.policies):
            return None
        if row.rule and not all(matches(one, row.rule) for one in self.rules):
            return None
        narrow = [one for one in self.resources if one != "*"]
        if not narrow:
            return row
        named = row.resources or ()
        if named and not all(any(matches(one, name) for name in named) for one in narrow):
            return None
        if lenient:
            return row._replace(resources=tuple(narrow))
        if not named:
            return row
        chosen = tuple(name for name in named if any(matches(one, name) for one in narrow))
        return row._replace(resources=chosen)


def parse_selector(text: str) -> Selector:
    """Return the selector that a text means; raise SelectorError where it is none."""
    found: dict[str, list[str]] = {"policy": [], "rule": [], "resource": []}
    for part in text.split(",") if text else ():
        name, _, value = (piece.strip() for piece in part.partition("="))
        if "=" not in part or "=" in value:
            raise SelectorError(f"{part}: not of the form name=pattern")
        if name not in found:
            raise SelectorError(f"{part}: it can only be policy, rule or resource")
        found[name].append(value)
    return Selector(*(tuple(patterns) for patterns in found.values()))
