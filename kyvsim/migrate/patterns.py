"""Convert patterns of objects, with the anchors of their keys, to tests.

A condition anchor guards the map that contains it, up to the next element of a list, or the whole
rule: if it is not met, the pattern does not apply. If it applies to no element of a list, it does
not apply to the map that contains the list either.
"""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.engine.pattern.checks import compile_scalar
from kyvsim.kubernetes.wildcard import has_wildcard, split_operator
from kyvsim.migrate.conditions import READ_TEXTS
from kyvsim.migrate.context import ConversionContext, Scope, located, unsupported
from kyvsim.migrate.expressions import TRUE, Quantified, Relation, Test, every, opposite, some
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.scalars import like, scalar_test
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import ConversionCondition
from kyvsim.policy import anchors
from kyvsim.policy.anchors import EQUALITY, GLOBAL, NEGATION
from kyvsim.policy.tree import PatternEntry, PatternLeaf, PatternList, PatternMap, PatternNode

# Loops over the lists of containers: equal ones are joined.

CONTAINER = "container"
"""The variable for elements of all lists of containers."""


def joined_loops(
    tests: Iterable[Test], context: ConversionContext, *, nested: bool = False
) -> list[Test]:
    """Return tests with equal ones of several lists of containers joined.

    The joined list is a variable, unless the tests are `nested` in another loop.
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


class ListGuard(NamedTuple):
    """A list with elements to which a pattern may not apply."""

    applies: Test
    """The pattern applies to an element, or the list is empty."""
    own: tuple[Test, ...]
    """The tests of the list itself: they are true if the pattern does not apply."""

    def within(self, value: Expr) -> "ListGuard":
        """Return the guard for a list in a value that may be missing."""
        return self._replace(applies=some([value.is_missing(), self.applies]))


class PatternTest(NamedTuple):
    """The tests of a part of a pattern."""

    tests: tuple[Test, ...] = ()
    guards: tuple[Test, ...] = ()
    """The conditions under which the pattern applies."""
    insists: bool = False
    """Whether the tests are false if the value is missing."""
    lists: tuple[ListGuard, ...] = ()
    first: tuple[Test, ...] = ()
    """The tests that are evaluated before lists: they fail even if no element is checked.
    upstream: pkg/engine/validate (validateMap), where anchors come before other keys
    """

    @property
    def guard(self) -> Test:
        """All guards joined."""
        return every([*self.guards, *(one.applies for one in self.lists)])

    @property
    def needed_guard(self) -> Test:
        """The same without the lists that have no other tests."""
        converted = {one for one in self.tests if one != TRUE}
        beside = (one.applies for one in self.lists if not converted <= set(one.own))
        return every([*self.guards, *beside])


def pattern_tests(pattern: PatternNode, value: Expr, scope: Scope) -> tuple[Test, Test]:
    """Return the guard of a pattern, and its test of a value."""
    converted = _convert(pattern, value, scope)
    return converted.guard, every(_joined(converted.tests, scope))


def pattern_test(pattern: PatternNode, value: Expr, scope: Scope) -> Test:
    """Return the test that a value matches a pattern, or that the pattern does not apply."""
    return _fitting(_convert(pattern, value, scope), scope)


def _fitting(converted: PatternTest, scope: Scope) -> Test:
    """Return the test that a pattern matches, or does not apply."""
    rest = [one for one in converted.tests if one not in converted.first]
    others = converted._replace(tests=tuple(rest), guards=())
    if not converted.first or not converted.lists:
        return guarded(converted.needed_guard, every(_joined(converted.tests, scope)))
    body = guarded(others.needed_guard, every(_joined(rest, scope)))
    return guarded(every(converted.guards), every([*_joined(converted.first, scope), body]))


def guarded(guard: Test, body: Test) -> Test:
    """Return the test that a guard is false or the body is true."""
    return body if guard == TRUE else some([opposite(guard), body])


def _convert(pattern: PatternNode, value: Expr, scope: Scope) -> PatternTest:
    if isinstance(pattern, PatternMap):
        return _of_map(pattern, value, scope)
    if isinstance(pattern, PatternList):
        return _of_list(pattern, value, scope, if_missing=False)
    special = _computed(pattern, value, scope, if_missing=False)
    if special is not None:
        return PatternTest((special,), insists=True)
    fits = compile_scalar(pattern.data)(None)
    return PatternTest((scalar_test(pattern.data, value, if_missing=fits),), insists=not fits)


_SIGNS: Final = MappingProxyType({"": "==", "!": "!="})


def _computed(pattern: PatternLeaf, value: Expr, scope: Scope, *, if_missing: bool) -> Test | None:
    """Return the test of a string with variables; None for other scalars."""
    text = pattern.data
    if not isinstance(text, str) or ("{{" not in text and "$(" not in text):
        return None
    sign, operand = split_operator(text)
    if sign not in _SIGNS or "$(" in text or has_wildcard(operand) or "|" in operand:
        what = f"`{text}`, a pattern that is computed at evaluation,"
        raise unsupported(what, "use a deny condition")
    scope.context.note(READ_TEXTS)
    found = Relation(value.text, _SIGNS[sign], text_value(operand, scope).tight(5))
    return some([value.is_missing(), found]) if if_missing else every([value.is_there(), found])


def _of_map(pattern: PatternMap, value: Expr, scope: Scope) -> PatternTest:
    # Anchors, except for `<(key)`, are evaluated before plain keys.
    members = [
        (one.anchor not in {None, GLOBAL}, _of_entry(one, value, scope)) for one in pattern.entries
    ]
    tests = [test for _, one in members for test in one.tests]
    guards = [guard for _, one in members for guard in one.guards]
    # Lists that decide whether the enclosing pattern applies. Members with anchors count together:
    # it is enough if the pattern applies to one of them.
    lists = [listed for early, one in members if not early for listed in one.lists]
    anchored = [one for early, one in members if early]
    if anchored and all(one.lists and not one.guards for one in anchored):
        applies = some(every(listed.applies for listed in one.lists) for one in anchored)
        own = (test for one in anchored for listed in one.lists for test in listed.own)
        lists.append(ListGuard(applies, tuple(own)))
    insists = any(one.insists for _, one in members)
    if value.may_miss and not insists:
        tests.insert(0, value.is_there())
        lists = [one._replace(own=(*one.own, tests[0])) for one in lists]
    if value.may_miss and guards:
        guards = [some([value.is_missing(), every(guards)])]
    first: list[Test] = []
    if value.may_miss:
        lists = [one.within(value) for one in lists]
    else:
        for early, one in members:
            first += one.first if not early else () if one.lists else one.tests
    return PatternTest(
        tuple(tests), tuple(guards), insists or value.may_miss, tuple(lists), tuple(first)
    )


def _of_entry(entry: PatternEntry, value: Expr, scope: Scope) -> PatternTest:
    with located(entry.path):
        if "{{" in entry.key:
            raise unsupported("a key with a variable", "name the key, or use deny conditions")
        if has_wildcard(entry.key):
            return _of_wildcard_key(entry, value, scope)
        child = value.child(entry.key)
        match entry.anchor:
            case None:
                return _convert(entry.value, child, scope)
            case anchors.CONDITION:
                return _guard(entry.value, child, scope)
            case anchors.GLOBAL:
                # The same, if the key exists.
                (guard,) = _guard(entry.value, child.given(), scope).guards
                return PatternTest(guards=(some([child.is_missing(), guard]),))
            case anchors.EQUALITY:
                return _equality(entry.value, child, scope)
            case anchors.NEGATION:
                return PatternTest((child.is_missing(),))
            case anchors.EXISTENCE:
                return _existence(entry.value, child, scope)
            case _:
                advice = "use a deny condition"
                if entry.anchor not in anchors.IN_VALIDATION:
                    advice = "remove it: it only adds fields in mutate rules"
                raise unsupported(f"the anchor `{entry.text}`", advice)


def _equality(pattern: PatternNode, value: Expr, scope: Scope) -> PatternTest:
    """Return the tests of `=(key)`: the pattern, if the key exists."""
    if isinstance(pattern, PatternList):
        return _of_list(pattern, value, scope, if_missing=True)
    if isinstance(pattern, PatternLeaf):
        special = _computed(pattern, value, scope, if_missing=True)
        return PatternTest((special or scalar_test(pattern.data, value, if_missing=True),))
    if value.may_miss and _fits_empty_map(pattern):
        within = _of_map(pattern, value._replace(optional=""), scope)
        if not within.guards and not within.lists:
            members = (_of_entry(one, value, scope) for one in pattern.entries)
            return PatternTest(tuple(test for one in members for test in one.tests))
    within = _of_map(pattern, value.given(), scope)
    missing = value.is_missing()
    test = some([missing, every(_joined(within.tests, scope))])
    guards = tuple(some([missing, one]) for one in within.guards)
    converted = set(within.tests)
    lists = tuple(
        one.within(value)._replace(own=(test,) if converted <= set(one.own) else ())
        for one in within.lists
    )
    return PatternTest((test,), guards, lists=lists)


def _fits_empty_map(pattern: PatternMap) -> bool:
    """Return whether the pattern of a map matches an empty map, at any depth."""
    for one in pattern.entries:
        if one.anchor not in {EQUALITY, NEGATION} or has_wildcard(one.key):
            return False
        inner = one.value if one.anchor == EQUALITY else None
        if isinstance(inner, PatternMap) and not _fits_empty_map(inner):
            return False
    return True


def _guard(pattern: PatternNode, value: Expr, scope: Scope) -> PatternTest:
    """Return the guard of `(key)`: the rest only applies if it is true."""
    within = _convert(pattern, value, scope)
    if within.guards or within.lists:
        raise unsupported("a condition inside a condition", "split the rule in two")
    test = every(_joined(within.tests, scope))
    there = TRUE if within.insists else value.is_there()
    return PatternTest(guards=(every([there, test]),))


def _existence(pattern: PatternNode, value: Expr, scope: Scope) -> PatternTest:
    """Return the test of `^(key)`: some element matches each pattern."""
    if not isinstance(pattern, PatternList) or not all(
        isinstance(one, PatternMap) for one in pattern.items
    ):
        raise unsupported(
            "`^()` over a value that is not a list of maps", "write a list of maps below it"
        )
    tests = []
    for one in pattern.items:
        element = scope.element(value)
        name = element.text
        inside = scope._replace(taken=scope.taken | {name})
        guard, body = pattern_tests(one, element, inside)
        tests.append(Quantified(value.text, name, every([guard, body]), "exists"))
    return PatternTest((some([value.is_missing(), every(tests)]),))


def _of_wildcard_key(entry: PatternEntry, value: Expr, scope: Scope) -> PatternTest:
    sign, pattern = entry.anchor, entry.value
    if sign not in {None, EQUALITY, NEGATION} or not isinstance(pattern, PatternLeaf):
        raise unsupported(f"a wildcard in the key `{entry.key}`", "name the key")
    scope.context.note(_KEYS)
    fits = like("key", entry.key)
    if sign == NEGATION:
        return PatternTest((Quantified(value.or_else({}), "key", opposite(fits)),))
    member = Expr(f"{value.text}[key]", value.value_types, noun=value.noun)
    test = scalar_test(pattern.data, member, if_missing=False)
    if sign == EQUALITY:
        loop = Quantified(value.text, "key", guarded(fits, test))
        return PatternTest((some([value.is_missing(), loop]),))
    loop = Quantified(value.text, "key", every([fits, test]), "exists")
    return PatternTest((every([value.is_there(), loop]),), insists=True)


def _of_list(pattern: PatternList, value: Expr, scope: Scope, *, if_missing: bool) -> PatternTest:
    if not pattern.items:
        raise unsupported("an empty list", "check its size with a deny condition")
    first = pattern.items[0]
    if isinstance(first, PatternList):
        raise unsupported("a list of lists", "use deny conditions")
    element = scope.element(value)
    name = element.text
    if isinstance(first, PatternMap):
        inside = scope._replace(taken=scope.taken | {name})
        converted = _of_map(first, element, inside)
        applies, test = converted.guard, _fitting(converted, inside)
    else:
        applies, test = TRUE, every(_convert(first, element, scope).tests)
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
    if value.may_miss or value.soft:  # a list that always exists is never empty
        one_applies = some([Relation(f"size({source})", "==", "0"), one_applies])
    if not if_missing:
        one_applies = some([value.is_missing(), one_applies])
    return PatternTest(tests, insists=not if_missing, lists=(ListGuard(one_applies, tests),))


def _joined(tests: Iterable[Test], scope: Scope) -> list[Test]:
    return joined_loops(tests, scope.context, nested=bool(scope.taken))
