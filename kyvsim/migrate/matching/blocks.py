"""Whole match and exclude blocks → constraints and match conditions of a policy."""

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.discovery import every_kind, is_namespaced, parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.expressions import TRUE, Test, every, opposite, some
from kyvsim.migrate.known_types import Types
from kyvsim.migrate.matching.filters import ADMITTED, AT_REST, DELETED, EITHER, Names, filter_tests
from kyvsim.migrate.matching.kinds import (
    Named,
    Operations,
    guessed_kinds,
    known_merges,
    known_types,
    named_kinds,
    resource_rules,
)
from kyvsim.migrate.refusal import NotConvertible, within
from kyvsim.migrate.scalars import like_one
from kyvsim.patch.keyed_lists import Field

_CONSTRAINED: Final = frozenset({"kinds", "operations", "namespaceSelector"})
"""What constraints say of a filter that is the only one. An objectSelector would also take updates
of objects that had the labels before."""
_BY_KIND: Final = frozenset({"kinds", "operations"})


Steps: TypeAlias = tuple[str | int, ...]


class Block(NamedTuple):
    """What the filters of a block share."""

    field: str
    desk: Desk
    names: Names


class Matching(NamedTuple):
    """What a policy is about."""

    constraints: dict[str, Json]
    conditions: tuple[tuple[str, Test], ...]
    """Names and tests."""
    types: Types
    """What is known of the objects."""
    merges: tuple[Field, ...]
    """How lists of the objects merge, by kind; () where nothing is known of one."""
    kinds: tuple[str, ...]
    operations: tuple[str, ...]

    @property
    def deletes(self) -> bool:
        """Whether objects that are deleted are asked, too."""
        return "DELETE" in self.operations


def matching_of(rule: Json, operations: Operations, desk: Desk) -> Matching:
    """Return what a rule is about.

    Raises NotConvertible with the path from the rule.
    """
    chosen = operations.chosen(_operations(list(_filters(rule.get("match") or {}))))
    return _matching(rule, chosen, DELETED if "DELETE" in chosen else ADMITTED, desk)


def names_operations(rule: Json) -> bool:
    """Return whether a rule says itself for which operations it is asked."""
    return bool(_operations(list(_filters(rule.get("match") or {}))))


def matching_at_rest(spec: Json, desk: Desk) -> Matching:
    """Return what a policy is about that looks at objects as they are: operations do not count.

    Raises NotConvertible with the path from `spec`.
    """
    return _matching(spec, [], AT_REST, desk)


def block_test(block: Json, kinds: frozenset[str], desk: Desk) -> Test:
    """Return the test that an object is what a block is about, of objects of some kinds.

    Raises NotConvertible with the path from the block.
    """
    tests = []
    for steps, one in _filters(block):
        named = _kinds_of(one)
        left_out = frozenset({"kinds"}) if kinds <= named or "*" in named else frozenset()
        found = within(steps, filter_tests, one, desk.at(*steps), EITHER, left_out=left_out)
        tests.append(every(found))
    return every(tests) if block.get("all") else some(tests)


def block_kinds(block: Json) -> frozenset[str]:
    """Return the kinds that a block is about, with `*` where one of its filters names none."""
    return frozenset().union(*(_kinds_of(one) or {"*"} for _, one in _filters(block)))


def _kinds_of(one: Json) -> frozenset[str]:
    named = (one.get("resources") or {}).get("kinds") or ()
    return frozenset(parse_kind_selector(text).kind for text in named)


def _matching(rule: Json, operations: list[str], names: Names, desk: Desk) -> Matching:
    match = rule.get("match") or {}
    filters = list(_filters(match))
    named = _named(match, filters, desk.at("match"))
    constraints: dict[str, Json] = {"resourceRules": resource_rules(named, operations)}
    block = Block("match", desk, names)
    if len(filters) == 1:
        selectors, matched = _only(block, *filters[0])
        constraints |= selectors
    else:
        matched = _several(match, filters, block)
    guessed = guessed_kinds(named)
    conditions = {
        "kind": some(like_one(names.kind, guessed)) if guessed else TRUE,
        "matched": matched,
        "not-excluded": TRUE,
    }
    if rule.get("exclude"):
        conditions["not-excluded"] = opposite(_excluded(rule, Block("exclude", desk, names)))
    kinds = tuple(dict.fromkeys(one.kind for one in named))
    asked = tuple((name, test) for name, test in conditions.items() if test != TRUE)
    return Matching(
        constraints=constraints,
        conditions=asked,
        types=known_types(named),
        merges=known_merges(named),
        kinds=kinds,
        operations=tuple(operations),
    )


def _only(block: Block, steps: Steps, one: Json) -> tuple[dict[str, Json], Test]:
    """Return the selectors and the test of a filter that is the only one of a match block."""
    resources = one.get("resources") or {}
    selectors: dict[str, Json] = {}
    left_out = _CONSTRAINED
    if resources.get("namespaceSelector") is not None:
        if _lie_in_namespaces(resources.get("kinds") or ("*",)):
            selectors["namespaceSelector"] = resources["namespaceSelector"]
        else:
            # A constraint also takes what is in no namespace, which a rule leaves out.
            left_out -= {"namespaceSelector"}
    wild = _is_wild(resources.get("selector"))
    if block.names is DELETED and wild:
        raise _wild_labels(steps)
    if block.names is DELETED and resources.get("annotations"):
        block = block._replace(names=EITHER)
    if block.names is not ADMITTED and resources.get("selector") is not None and not wild:
        selectors["objectSelector"] = resources["selector"]
        left_out |= {"selector"}
    return selectors, every(_tests(block, steps, one, left_out))


def _lie_in_namespaces(kinds: Iterable[str]) -> bool:
    """Return whether all objects of kinds lie in namespaces, as far as the kinds are known."""
    named = map(parse_kind_selector, kinds)
    return not any(
        has_wildcard(one.kind) or not is_namespaced(group, one.kind)
        for one in named
        for group in (_groups(one.kind) or (one.group,))
    )


def _groups(kind: str) -> list[str]:
    return [group for group, known in every_kind() if known == kind]


def _filters(block: Json) -> list[tuple[Steps, Json]]:
    """Return the filters of a block with the ways to them."""
    for quantifier in ("any", "all"):
        if block.get(quantifier):
            return [((quantifier, n), one) for n, one in enumerate(block[quantifier])]
    return [((), block)]


def _operations(filters: list[tuple[Steps, Json]]) -> list[str]:
    """Return the operations that every filter names, () where one names none."""
    named = [(one.get("resources") or {}).get("operations") for _, one in filters]
    found = (operation for one in named for operation in one or ())
    return list(dict.fromkeys(found)) if all(named) else []


def _named(match: Json, filters: list[tuple[Steps, Json]], desk: Desk) -> list[Named]:
    lists = []
    for steps, one in filters:
        kinds = (one.get("resources") or {}).get("kinds")
        if kinds:
            lists.append(named_kinds(kinds, desk.at(*steps)))
        elif not match.get("all"):
            raise NotConvertible(
                "a filter without kinds cannot be said as constraints",
                "name the kinds that are meant",
                ("match", *steps),
            )
    if match.get("all") and lists:
        return [one for one in lists[0] if all(one in other for other in lists)]
    return list(dict.fromkeys(one for listed in lists for one in listed))


def _wild_labels(steps: Steps) -> NotConvertible:
    return NotConvertible(
        "labels with wildcards of objects that are deleted have no twin in CEL",
        "name the operations CREATE and UPDATE",
        ("match", *steps, "resources", "selector"),
    )


def _is_wild(selector: Json) -> bool:
    return any(sign in str(selector) for sign in "*?") if selector else False


def _tests(block: Block, steps: Steps, one: Json, left_out: frozenset[str]) -> list[Test]:
    steps = (block.field, *steps)
    desk = block.desk.at(*steps)
    if block.names is AT_REST:
        left_out |= {"operations"}
    try:
        return filter_tests(one, desk, block.names, left_out=left_out)
    except NotConvertible as refusal:
        raise refusal.below(*steps) from None


def _several(match: Json, filters: list[tuple[Steps, Json]], block: Block) -> Test:
    if match.get("all"):
        found = [_tests(block, steps, one, _BY_KIND) for steps, one in filters]
        return every(test for tests in found for test in tests)
    if not any(_asks_more(one) for _, one in filters):
        return TRUE
    found = [_tests(block, steps, one, frozenset()) for steps, one in filters]
    return some(every(tests) for tests in found)


def _asks_more(one: Json) -> bool:
    """Return whether a filter looks at more than kinds."""
    resources = one.get("resources") or {}
    asked = {field for field, value in resources.items() if value is not None}
    return not asked <= {"kinds"} or bool(set(one) - {"resources"})


def _excluded(rule: Json, block: Block) -> Test:
    exclude = rule["exclude"]
    matched = {
        kind
        for _, one in _filters(rule.get("match") or {})
        for kind in (one.get("resources") or {}).get("kinds") or ()
    }
    tests = []
    for steps, one in _filters(exclude):
        kinds = set((one.get("resources") or {}).get("kinds") or ())
        left_out = frozenset({"kinds"}) if matched <= kinds else frozenset()
        found = _tests(block, steps, one, left_out)
        tests.append(every(found))
    return every(tests) if exclude.get("all") else some(tests)
