"""A second evaluator that reads a pattern as it walks, and the closures: they must agree.

It goes through pattern and object together, so it shares neither the choice of checks beforehand
nor their places with the closures; it shares the predicates of scalars.
"""

import re

from hypothesis import given
from hypothesis import strategies as st

from kyvsim.engine.pattern import compile_pattern, compile_scalar
from kyvsim.policy.read import pattern_node

# --- the slow evaluator -------------------------------------------------------------------------


class Mismatch(Exception):  # noqa: N818 — an outcome, no error
    """What an object breaks, and where: `skip`, `negation`, `plain` or `length`."""

    def __init__(self, weight, path="", *, whole=False):
        super().__init__(weight)
        self.weight, self.path, self.whole = weight, path, whole


def verdict(pattern, obj):
    """Return the kind of failure and its path, or None where the object matches."""
    seen = {}
    try:
        walk(pattern, obj, "/", seen)
    except Mismatch as found:
        if found.weight == "skip":
            return "skip", ""
        if found.weight == "length" or (found.weight == "plain" and not all(seen.values())):
            return "error", ""
        return "fail", found.path
    return None


def walk(pattern, value, path, seen):
    if isinstance(pattern, dict):
        walk_map(pattern, value, path, seen)
    elif isinstance(pattern, list):
        walk_list(pattern, value, path, seen)
    elif not all(map(compile_scalar(pattern), value if isinstance(value, list) else [value])):
        raise Mismatch("plain", path)


def walk_list(pattern, value, path, seen):
    if not pattern or not isinstance(value, list):
        raise Mismatch("plain", path)
    if isinstance(pattern[0], dict):
        pairs = [(pattern[0], item) for item in value]
    elif isinstance(pattern[0], list):
        if len(value) < len(pattern):
            raise Mismatch("length")
        pairs = list(zip(pattern, value, strict=False))
    else:
        walk(pattern[0], value, path, seen)
        return
    skipped = 0
    for index, (one, item) in enumerate(pairs):
        try:
            walk(one, item, f"{path}{index}/", seen)
        except Mismatch as found:
            if found.weight != "skip":
                raise
            skipped += 1
    if skipped and skipped == len(pairs):
        raise Mismatch("skip", whole=True)


def anchor(text):
    found = re.fullmatch(r"([+<=X^]?)\((.+)\)", text)
    return found.groups() if found else (None, text)


def walk_map(pattern, value, path, seen):
    if not isinstance(value, dict):
        raise Mismatch("plain", path)
    for text in pattern:
        sign, key = anchor(text)
        if sign in {"", "^"}:
            seen[text] = seen.get(text, False) or key in value
    asked = [text for text in sorted(pattern) if anchor(text)[0] in {"", "^", "=", "X"}]
    skips, applied = [], False
    for text in asked:
        try:
            member(text, pattern[text], value, path, seen)
            applied = True
        except Mismatch as found:
            if found.weight == "skip":
                skips.append(found)
            elif all(one.whole for one in skips):
                raise
    if skips and not (applied and all(one.whole for one in skips)):
        raise Mismatch("skip", whole=True)
    rest = [text for text in sorted(pattern) if text not in asked]
    early = [text for text in rest if anchor(text)[0] == "<" or checks_below(pattern[text])]
    for text in [*reversed(early), *(text for text in rest if text not in early)]:
        member(text, pattern[text], value, path, seen)


def checks_below(pattern):
    if isinstance(pattern, dict):
        return any(anchor(text)[0] not in {None, "+"} for text in pattern) or any(
            map(checks_below, pattern.values())
        )
    return isinstance(pattern, list) and any(map(checks_below, pattern))


def member(text, pattern, value, path, seen):
    sign, key = anchor(text)
    if sign in {None, "+"}:
        if pattern == "*":
            if value.get(text) is None:
                raise Mismatch("plain", path)
            return
        walk(pattern, value.get(text), f"{path}{text}/", seen)
        return
    if key not in value:
        if sign == "":
            raise Mismatch("skip")
        return
    below = f"{path}{key}/"
    if sign == "X":
        raise Mismatch("negation", below)
    if sign == "^":
        existence(pattern, value[key], below, seen)
        return
    try:
        walk(pattern, value[key], below, seen)
    except Mismatch:
        if sign == "=":
            raise
        raise Mismatch("skip") from None


def existence(pattern, value, path, seen):
    """Each map of the pattern must match some element."""
    if not isinstance(value, list) or not isinstance(pattern, list):
        raise Mismatch("plain", path)
    if not all(isinstance(one, dict) for one in pattern):
        raise Mismatch("plain", path)
    for one in pattern:
        if not any(matches(one, item, seen) for item in value):
            raise Mismatch("plain", path)


def matches(pattern, item, seen):
    try:
        walk(pattern, item, "", seen)
    except Mismatch:
        return False
    return True


# --- patterns made of the objects that they are asked of, so that they meet -----------------------

KEYS = st.sampled_from("abc")
LEAVES = st.sampled_from(["a", "b", "ab", "", None, True, False, 0.0, 1.0, "5", "10Mi"])
OBJECTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(st.dictionaries(KEYS, inner, min_size=1, max_size=2), max_size=3)
        | st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)
SIGNS = st.sampled_from(["", "", "", "()", "()", "=()", "X()", "^()", "<()", "+()"])
SCALARS = st.sampled_from(["*", "?*", "a*", "!a", "a | b", ">3", "1Mi-20Mi", None, True, 1.0, "b"])


def signed(sign, key):
    return sign.replace("()", f"({key})") if sign else key


@st.composite
def patterns(draw, value):
    """Draw a pattern for a value: parts of it, some with anchors, some with other leaves."""
    if isinstance(value, dict):
        found = {
            signed(draw(SIGNS), key): draw(patterns(one))
            for key, one in value.items()
            if draw(st.integers(0, 3))
        }
        if not draw(st.integers(0, 3)):
            found[signed(draw(SIGNS), draw(KEYS))] = draw(SCALARS)
        return found
    if isinstance(value, list):
        if not value:
            return draw(st.sampled_from([[], ["a"], [{"a": "b"}], "*"]))
        chosen = draw(st.lists(st.sampled_from(value), min_size=1, max_size=2))
        return [draw(patterns(one)) for one in chosen]
    return draw(st.just(value) | SCALARS)


@st.composite
def cases(draw):
    obj = draw(OBJECTS)
    return draw(patterns(obj)), draw(st.just(obj) | OBJECTS)


@given(cases())
def test_both_evaluators_agree(case):
    pattern, obj = case
    failure = compile_pattern(pattern_node(pattern, ()))(obj)
    assert (failure and (failure.kind.value, failure.path)) == verdict(pattern, obj)
