"""AnyIn, AllIn, AnyNotIn, AllNotIn, and the older In and NotIn."""

import json
from collections.abc import Callable
from typing import Final

from kyvsim.kube.go_text import sprint
from kyvsim.kube.objects import Json
from kyvsim.kube.text_pattern import range_ends
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.migrate.conditions.equality import equals_read, fits_read
from kyvsim.migrate.desk import name_for_element
from kyvsim.migrate.expressions import (
    RELATION,
    Choice,
    Each,
    Plain,
    Relation,
    Test,
    every,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.known_types import (
    element_of,
    is_bool,
    is_list,
    is_number,
    is_text,
)
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.scalars import amount_test
from kyvsim.migrate.values import Value
from kyvsim.migrate.wildcards import like, like_one

_WILD_FIELDS: Final = frozenset(
    {"verbs", "resources", "apiGroups", "resourceNames", "nonResourceURLs"}
    | {"host", "hosts", "path", "paths", "args", "command"}
)
"""Fields whose texts may hold wildcards: rules take what they hold for patterns, too.

upstream: pkg/engine/variables/operator/anyin.go, which matches in both directions
"""

_TAME_FIELDS: Final = (
    frozenset({"accessModes", "concurrencyPolicy", "dnsPolicy", "effect", "hostname", "image"})
    | {"imagePullPolicy", "ingressClassName", "kind", "namespace", "nodeName", "policyTypes"}
    | {"priorityClassName", "protocol", "restartPolicy", "runtimeClassName", "serviceAccountName"}
    | {"storageClassName", "type"}
)
"""Fields in which an API server takes no wildcards."""
_LONG: Final = 60
"""So many characters of an expression are written twice at most, and evaluated for each text."""

_Holds = Callable[[Value], Test]


def any_in(key: Value, value: Value) -> Test:
    """Return the test that a key, or an element of it, is among the value's elements."""
    return _one("exists", key, value, wanted=True)


def all_in(key: Value, value: Value) -> Test:
    """Return the test that a key, or every element of it, is among the value's elements."""
    return _one("all", key, value, wanted=True)


def any_not_in(key: Value, value: Value) -> Test:
    """Return the test that a key, or an element of it, is not among the value's elements."""
    return _one("exists", key, value, wanted=False)


def not_in(key: Value, value: Value) -> Test:
    """Return the test of the older NotIn: no key is outside of a text that is no list in JSON."""
    if value.constant or not value.is_looked_up or not is_text(value.types) or is_list(key.types):
        return any_not_in(key, value)
    # The key stands where it is always looked at: one that is missing ends in an error.
    held, one = value.tight(), key.tight(RELATION + 1)
    listed = f"({held}.startsWith('[') ? json.unmarshal({held}) : [{one}])"
    return opposite(Relation(one, "in", listed))


def all_not_in(key: Value, value: Value) -> Test:
    """Return the test that neither a key nor an element of it is among the value's elements."""
    return _one("all", key, value, wanted=False)


def may_be_wild(key: Value) -> bool:
    """Return whether an object may hold wildcards in a key, which the test takes as they are."""
    types = element_of(key.types) if is_list(key.types) else key.types
    if key.constant or is_number(types) or is_bool(types):
        return False
    if key.noun in _WILD_FIELDS and is_text(types):
        return False
    is_tame = key.noun in _TAME_FIELDS or key.text.startswith("request.")
    return not (is_tame or "labels" in key.text or key.text.endswith("metadata.name"))


def takes_wildcards(value: Value) -> bool:
    """Return whether the texts of a list that is read count as wildcards in the test, too."""
    return value.noun in _WILD_FIELDS and is_text(element_of(value.types))


def _one(macro: str, key: Value, value: Value, *, wanted: bool) -> Test:
    if key.constant and isinstance(key.constant[0], str) and has_wildcard(key.constant[0]):
        return _pattern_in(key.constant[0], value, wanted=wanted)
    holds = _among(value)

    def ends(one: Value) -> Test:
        return holds(one) if wanted else opposite(holds(one))

    if not is_list(key.types) and (key.types or _is_singular(key)):
        return ends(key)
    source = key.or_else([]) if is_list(key.types) else _listed(key)
    taken = frozenset({key.text.split(".")[0]})
    name = name_for_element(key.noun, taken)
    element = Value(name, element_of(key.types), noun=key.noun)
    test = Each(source, name, ends(element), macro)
    if is_list(key.types) and key.fallback == ("",) and not _takes_empty(value):
        size = f"size({source})"
        if macro == "exists" and not wanted:
            return some([Relation(size, "==", "0"), test])
        if macro == "all" and wanted:
            return every([Relation(size, ">", "0"), test])
    return test


def _is_singular(key: Value) -> bool:
    """Return whether a value of which nothing is known is one thing, as its name says."""
    return bool(key.noun) and not key.noun.endswith("s")


def _takes_empty(value: Value) -> bool:
    """Return whether the text that stands for an empty list is among a value's elements."""
    listed = value.constant[0] if value.constant else None
    return isinstance(listed, list) and any(one in ("", "*") for one in listed)


def _pattern_in(pattern: str, value: Value, *, wanted: bool) -> Test:
    """Return the test that some text of a value fits a key with wildcards."""
    if value.constant:
        raise NotConvertible("two fixed sides of a condition", "leave the condition out")
    source = value.or_else([]) if is_list(value.types) else _listed(value)
    found = Each(source, "text", like("text", pattern), "exists")
    return found if wanted else opposite(found)


def _listed(key: Value) -> str:
    return f"[{key.text}].flatten()"


def _among(value: Value) -> _Holds:
    """Return what makes the test of being among a value's elements."""
    if not value.constant:
        return lambda one: _among_read(one, value)
    constant = value.constant[0]
    if isinstance(constant, str):
        if range_ends(constant) is not None:
            return lambda one: _in_range(one, constant)
        return lambda one: _among_texts(one, _elements(constant))
    if isinstance(constant, list):
        return lambda one: _among_texts(one, [_shown(item) for item in constant])
    raise NotConvertible(
        f"`{json.dumps(constant)}` as the value of a membership test has no twin in CEL",
        "write a list of texts",
    )


def _shown(item: Json) -> str:
    return item if isinstance(item, str) else sprint(item)


def _elements(text: str) -> list[str]:
    """Return the texts that a value's text stands for: a JSON list's, or itself."""
    try:
        data = json.loads(text)
    except ValueError:
        return [text]
    return data if isinstance(data, list) and all(isinstance(one, str) for one in data) else [text]


def _in_range(one: Value, text: str) -> Test:
    least, most, inside = range_ends(text) or ("", "", True)
    within = [amount_test(one, ">=", least), amount_test(one, "<=", most)]
    return every(within) if inside else some(map(opposite, within))


def _among_texts(one: Value, texts: list[str]) -> Test:
    if is_number(one.types) and all(map(str.isdecimal, texts)):
        return Relation(one.text, "in", f"[{', '.join(texts)}]")
    found = like_one(_as_text(one), texts)
    plain = [text for text in texts if not has_wildcard(text)]
    if one.noun in _WILD_FIELDS and plain and is_text(one.types):
        listed = ", ".join(map(quoted, plain))
        found = [test for test in found if not isinstance(test, Relation)]
        found.insert(0, Each(f"[{listed}]", "text", fits_read("text", one.tight()), "exists"))
    return some(found)


def _as_text(one: Value) -> str:
    if is_number(one.types) or is_bool(one.types):
        return f"string({one.text})"
    return one.tight(RELATION + 1) if is_text(one.types) else one.tight()


def _in_text(one: Value, value: Value) -> Test:
    """Return the test of being what a text of the cluster says, which may be a list in JSON."""
    held = value.tight()
    listed = Relation(one.tight(RELATION + 1), "in", f"json.unmarshal({held})")
    return Choice(Plain(f"{held}.startsWith('[')"), listed, equals_read(one, value))


def _among_read(one: Value, value: Value) -> Test:
    text = one.tight(RELATION + 1)
    if is_text(value.types):
        return _in_text(one, value) if value.is_looked_up else equals_read(one, value)
    listed = value.or_else([]) if is_list(value.types) else _listed(value)
    if takes_wildcards(value):
        # The order makes no difference here, and a sorted list may lose the type of its elements.
        listed = listed.removesuffix(".sort()")
        if one.noun and one.noun not in _WILD_FIELDS:
            return Each(listed, "pattern", fits_read(one.tight(), "pattern"), "exists")
        # A text that is composed of others has no noun of its own: nobody knows what it holds.
        key = one.tight() if len(one.text) <= _LONG else "text"
        fits = some([fits_read(key, "pattern"), fits_read("pattern", key)])
        among = Each(listed, "pattern", fits, "exists")
        return among if key != "text" else Each(f"[{one.text}]", key, among, "exists")
    return Relation(text, "in", listed)
