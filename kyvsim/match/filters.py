"""The filters of match and exclude blocks, each with its place."""

from collections.abc import Iterator, Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.facts import Filter


def filters(rule: Mapping[str, Json], block: str) -> Iterator[Filter]:
    """Yield the filters of a `match` or `exclude` block: any, all, then the legacy form."""
    data = rule.get(block)
    if data is None:
        return
    for group in ("any", "all"):
        for index, entry in enumerate(data.get(group) or ()):
            yield Filter((block, group, index), entry)
    yield Filter((block,), data)
