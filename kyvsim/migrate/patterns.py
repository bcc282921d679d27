"""Patterns of objects → tests, with the anchors of their keys.

A condition anchor guards the map around it up to the next element of a list, or the whole
rule: where it does not hold, the pattern does not apply. If it applies to no element of a list,
it does not apply to the map around the list either.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.migrate.context import ConversionContext, element_for, located, no_twin
from kyvsim.migrate.expressions import TRUE, Quantified, Relation, Test, every, opposite, some
from kyvsim.migrate.scalars import fits_null, like, scalar_test
from kyvsim.migrate.values import Expr, values_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.policy.anchors import (
    CONDITION,
    EQUALITY,
    EXISTENCE,
    GLOBAL,
    NEGATION,
    parse_anchor,
)

# Loops over the lists of containers: equal ones become one.

CONTAINER = "container"
"""What elements of all lists of containers are called."""


def joined_loops(
    tests: Iterable[Test], context: ConversionContext, *, nested: bool = False
) -> list[Test]:
    """Return tests with equal ones of several lists of containers joined.

    The lists together are a variable, unless the tests are `nested` in another loop.
    """
    found: list[Test | list[Quantified]] = []
    same: dict[Test, list[Quantified]] = {}
    for one in tests:
        if not isinstance(one, Quantified) or one.name != CONTAINER:
            found.append(one)
        elif one.body in same:
            same[one.body].append(one)
        else:
            same[one.body] = [one]
            found.append(same[one.body])
    tested: list[Test] = []
    for loops in found:
        if not isinstance(loops, list):
            tested.append(loops)
            continue
        sources = sorted((one.source for one in loops), key=lambda text: ".orValue" in text)
        source = " + ".join(sources)
        if len(loops) > 1 and nested:
            source = f"({source})"
        elif len(loops) > 1:
            name = "allContainers" if len(loops) > 2 else "containers"
            source = context.variable(name, source)
        tested.append(loops[0]._replace(source=source))
    return tested


_KEYS: Final = ConversionCondition(
    "wildcard keys",
    "every key that matches a wildcard is checked; the ClusterPolicy only checks the first",
)

TextTest: TypeAlias = Callable[[str, Expr, bool], Test | None]
"""Makes the test of a text with variables; None where it holds none."""


class ListGuard(NamedTuple):
    """A list to whose elements a pattern may not apply."""

    applies: Test
    """The pattern applies to an element, or the list is empty."""
    own: tuple[Test, ...]
    """The tests of the list itself: they hold where the pattern does not apply."""

    def within(self, value: Expr) -> "ListGuard":
        """Return the same for a list in a value that may be missing."""
        return self._replace(applies=some([value.is_missing(), self.applies]))


class PatternTest(NamedTuple):
    """The tests of a part of a pattern."""

    tests: tuple[Test, ...] = ()
    guards: tuple[Test, ...] = ()
    """What has to hold for the pattern to apply."""
    insists: bool = False
    """Whether the tests do not hold where the value is missing."""
    lists: tuple[ListGuard, ...] = ()
    first: tuple[Test, ...] = ()
    """Those of the tests that are made before lists are looked at: they fail even where nothing is
    checked for any element.

    upstream: pkg/engine/validate (validateMap), where anchors come before other keys
    """

    @property
    def guard(self) -> Test:
        """All guards joined."""
        return every([*self.guards, *(one.applies for one in self.lists)])

    @property
    def needed_guard(self) -> Test:
        """The same without the lists that have no tests beside them."""
        converted = {one for one in self.tests if one != TRUE}
        beside = (one.applies for one in self.lists if not converted <= set(one.own))
        return every([*self.guards, *beside])


class PatternContext(NamedTuple):
    """What the parts of a pattern share."""

    context: ConversionContext
    text_test: TextTest
    taken: frozenset[str] = frozenset()
    """Names of the elements around."""

    def below(self, *steps: str | int) -> "PatternContext":
        """Return them for a part further down."""
        return self._replace(context=self.context.at(*steps))


def pattern_tests(pattern: Json, value: Expr, around: PatternContext) -> tuple[Test, Test]:
    """Return the guard of a pattern, and its test of a value."""
    converted = _convert(pattern, value, around)
    return converted.guard, every(_joined(converted.tests, around))


def pattern_test(pattern: Json, value: Expr, around: PatternContext) -> Test:
    """Return the test that a value fits a pattern, or that the pattern is not for it."""
    return _fitting(_convert(pattern, value, around), around)


def _fitting(converted: PatternTest, around: PatternContext) -> Test:
    """Return the test that a pattern fits, or does not apply."""
    rest = [one for one in converted.tests if one not in converted.first]
    others = converted._replace(tests=tuple(rest), guards=())
    if not converted.first or not converted.lists:
        return guarded(converted.needed_guard, every(_joined(converted.tests, around)))
    body = guarded(others.needed_guard, every(_joined(rest, around)))
    return guarded(every(converted.guards), every([*_joined(converted.first, around), body]))


def guarded(guard: Test, body: Test) -> Test:
    """Return what holds where a guard does not, and where the body does."""
    return body if guard == TRUE else some([opposite(guard), body])


def _convert(pattern: Json, value: Expr, around: PatternContext) -> PatternTest:
    if isinstance(pattern, dict):
        return _of_map(pattern, value, around)
    if isinstance(pattern, list):
        return _of_list(pattern, value, around, if_missing=False)
    return _of_scalar(pattern, value, around)


def _of_scalar(pattern: Json, value: Expr, around: PatternContext) -> PatternTest:
    special = _special(pattern, value, around, if_missing=False)
    if special is not None:
        return PatternTest((special,), insists=True)
    fits = fits_null(pattern)
    return PatternTest((scalar_test(pattern, value, if_missing=fits),), insists=not fits)


def _special(
    pattern: Json, value: Expr, around: PatternContext, *, if_missing: bool
) -> Test | None:
    return around.text_test(pattern, value, if_missing) if isinstance(pattern, str) else None


# ---------------------------------------------------------------------------- maps


def _of_map(pattern: Mapping[str, Json], value: Expr, around: PatternContext) -> PatternTest:
    members = {
        key: _of_member(key, below, value, around.below(key)) for key, below in pattern.items()
    }
    converted = members.values()
    tests = [test for one in converted for test in one.tests]
    guards = [guard for one in converted for guard in one.guards]
    lists = _lists_of(members)
    insists = any(one.insists for one in converted)
    if value.may_miss and not insists:
        tests.insert(0, value.is_there())
        lists = [one._replace(own=(*one.own, tests[0])) for one in lists]
    if value.may_miss and guards:
        guards = [some([value.is_missing(), every(guards)])]
    first: list[Test] = []
    if value.may_miss:
        lists = [one.within(value) for one in lists]
    else:
        for key, one in members.items():
            first += one.first if not _comes_first(key) else () if one.lists else one.tests
    return PatternTest(
        tuple(tests), tuple(guards), insists or value.may_miss, tuple(lists), tuple(first)
    )


def _lists_of(members: Mapping[str, PatternTest]) -> list[ListGuard]:
    """Return the lists of a map that decide whether the pattern around them applies.

    Members under anchors count together: it is enough if the pattern applies to one of them.
    """
    anchored = [one for key, one in members.items() if _comes_first(key)]
    found = [
        one
        for key, converted in members.items()
        if not _comes_first(key)
        for one in converted.lists
    ]
    if anchored and all(one.lists and not one.guards for one in anchored):
        applies = some(every(listed.applies for listed in one.lists) for one in anchored)
        own = (test for one in anchored for listed in one.lists for test in listed.own)
        found.append(ListGuard(applies, tuple(own)))
    return found


def _comes_first(key: str) -> bool:
    """Return whether a key is looked at before those that are plain."""
    anchor = parse_anchor(key)
    return anchor is not None and anchor.sign != GLOBAL


def _of_member(text: str, pattern: Json, value: Expr, around: PatternContext) -> PatternTest:
    with located(text):
        anchor = parse_anchor(text)
        sign, key = (None, text) if anchor is None else anchor
        if "{{" in key:
            raise no_twin("a key with a variable", "name the key, or use deny conditions")
        if has_wildcard(key):
            return _of_wildcard_key((sign, key), pattern, value, around)
        child = value.child(key)
        if sign is None:
            return _convert(pattern, child, around)
        emit = _ANCHORS.get(sign)
        if emit is None:
            advice = "remove it: it only adds fields in mutate rules"
            raise no_twin(f"the anchor `{text}`", advice)
        return emit(pattern, child, around)


def _equality(pattern: Json, value: Expr, around: PatternContext) -> PatternTest:
    """Return the tests of `=(key)`: the pattern, if the key exists."""
    if isinstance(pattern, list):
        return _of_list(pattern, value, around, if_missing=True)
    if not isinstance(pattern, dict):
        special = _special(pattern, value, around, if_missing=True)
        return PatternTest((special or scalar_test(pattern, value, if_missing=True),))
    if value.may_miss and _fits_empty_map(pattern):
        within = _of_map(pattern, value._replace(optional=""), around)
        members = [_of_member(key, one, value, around.below(key)) for key, one in pattern.items()]
        if not within.guards and not within.lists:
            return PatternTest(tuple(test for one in members for test in one.tests))
    within = _of_map(pattern, value.given(), around)
    missing = value.is_missing()
    test = some([missing, every(_joined(within.tests, around))])
    guards = tuple(some([missing, one]) for one in within.guards)
    converted = set(within.tests)
    lists = tuple(
        one.within(value)._replace(own=(test,) if converted <= set(one.own) else ())
        for one in within.lists
    )
    return PatternTest((test,), guards, lists=lists)


def _fits_empty_map(pattern: Mapping[str, Json]) -> bool:
    """Return whether a map's pattern holds of a map without any key, at any depth."""
    for key, below in pattern.items():
        anchor = parse_anchor(key)
        if anchor is None or anchor.sign not in {EQUALITY, NEGATION} or has_wildcard(key):
            return False
        is_optional_map = anchor.sign == EQUALITY and isinstance(below, dict)
        if is_optional_map and not _fits_empty_map(below):
            return False
    return True


def _guard(pattern: Json, value: Expr, around: PatternContext) -> PatternTest:
    """Return the guard of `(key)` and `<(key)`: the rest applies only where they hold."""
    within = _convert(pattern, value, around)
    if within.guards or within.lists:
        raise no_twin("a condition inside a condition", "split the rule in two")
    test = every(_joined(within.tests, around))
    there = TRUE if within.insists else value.is_there()
    return PatternTest(guards=(every([there, test]),))


def _global(pattern: Json, value: Expr, around: PatternContext) -> PatternTest:
    """Return the guard of `<(key)`: the same as `(key)`, if the key exists."""
    (guard,) = _guard(pattern, value.given(), around).guards
    return PatternTest(guards=(some([value.is_missing(), guard]),))


def _existence(pattern: Json, value: Expr, around: PatternContext) -> PatternTest:
    """Return the test of `^(key)`: for each pattern an element that fits."""
    if not isinstance(pattern, list) or not all(isinstance(one, dict) for one in pattern):
        raise no_twin(
            "`^()` over a value that is not a list of maps", "write a list of maps below it"
        )
    tests = []
    for index, one in enumerate(pattern):
        element = element_for(value, around.taken)
        name = element.text
        inside = around.below(index)._replace(taken=around.taken | {name})
        guard, body = pattern_tests(one, element, inside)
        tests.append(Quantified(value.text, name, every([guard, body]), "exists"))
    return PatternTest((some([value.is_missing(), every(tests)]),))


_ANCHORS: Final[Mapping[str, Callable[[Json, Expr, PatternContext], PatternTest]]] = (
    MappingProxyType(
        {
            CONDITION: _guard,
            GLOBAL: _global,
            EQUALITY: _equality,
            NEGATION: lambda _pattern, value, _around: PatternTest((value.is_missing(),)),
            EXISTENCE: _existence,
        }
    )
)
"""Converters of anchors, by sign; `+()` does not exist in validation."""


def _of_wildcard_key(
    anchored: tuple[str | None, str], pattern: Json, value: Expr, around: PatternContext
) -> PatternTest:
    sign, key = anchored
    if sign not in {None, EQUALITY, NEGATION} or isinstance(pattern, dict | list):
        raise no_twin(f"a wildcard in the key `{key}`", "name the key")
    around.context.note(_KEYS)
    fits = like("key", key)
    if sign == NEGATION:
        return PatternTest((Quantified(value.or_else({}), "key", opposite(fits)),))
    entry = Expr(f"{value.text}[key]", values_of(value.types), noun=value.noun)
    test = scalar_test(pattern, entry, if_missing=False)
    if sign == EQUALITY:
        loop = Quantified(value.text, "key", guarded(fits, test))
        return PatternTest((some([value.is_missing(), loop]),))
    loop = Quantified(value.text, "key", every([fits, test]), "exists")
    return PatternTest((every([value.is_there(), loop]),), insists=True)


# ---------------------------------------------------------------------------- lists


def _of_list(
    pattern: list[Json], value: Expr, around: PatternContext, *, if_missing: bool
) -> PatternTest:
    if not pattern:
        raise no_twin("an empty list", "check its size with a deny condition")
    first = pattern[0]
    if isinstance(first, list):
        raise no_twin("a list of lists", "use deny conditions")
    element = element_for(value, around.taken)
    name = element.text
    applies: Test = TRUE
    if isinstance(first, dict):
        inside = around.below(0)._replace(taken=around.taken | {name})
        with located(0):
            converted = _convert(first, element, inside)
            applies, test = converted.guard, _fitting(converted, inside)
    else:
        test = every(_of_scalar(first, element, around.below(0)).tests)
    source = value.or_else([]) if if_missing or value.soft else value.text
    loop = Quantified(source, name, test)
    if if_missing:
        tests: tuple[Test, ...] = () if test == TRUE else (loop,)
    elif test == TRUE:
        tests = (value.is_there(),)
    else:
        tests = (*(() if value.rewritten else (value.is_there(),)), loop)
    if applies == TRUE:
        return PatternTest(tests, insists=not if_missing)
    one_applies: Test = Quantified(source, name, applies, "exists")
    if value.may_miss or value.soft:  # a list that always is there always has elements
        one_applies = some([Relation(f"size({source})", "==", "0"), one_applies])
    if not if_missing:
        one_applies = some([value.is_missing(), one_applies])
    return PatternTest(tests, insists=not if_missing, lists=(ListGuard(one_applies, tests),))


def _joined(tests: Iterable[Test], around: PatternContext) -> list[Test]:
    return joined_loops(tests, around.context, nested=bool(around.taken))
