"""Checks of patterns and strategic merge patches: operators, amounts, ranges, lists."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.quantities import parse_duration, parse_quantity
from kyvsim.kubernetes.wildcard import Comparison, Range, has_wildcard, matches
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.linting.fields import kinds_served, patches
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, Severity, change
from kyvsim.model.policy import Policy
from kyvsim.patch.keyed_lists import MergeField, find_type
from kyvsim.policy.anchors import ADDITION, CONDITION, GLOBAL, NEGATION
from kyvsim.policy.rule import ForEachValidation, RuleNode
from kyvsim.policy.tree import (
    Pattern,
    PatternEntry,
    PatternLeaf,
    PatternList,
    PatternMap,
    PatternNode,
)
from kyvsim.policy.visit import walk

_SKIPPING = frozenset({CONDITION, GLOBAL})
_SIGNS = frozenset("<>=!&|\\^$,")
_ORDERS = frozenset({">", ">=", "<", "<="})
_MISPLACED = re.compile(r"(?P<sign>=[<>]|={1,2}|<>)\s*(?P<rest>-?\d.*)")
_MEANT: Mapping[str, str] = {"=>": ">=", "=<": "<=", "=": "", "==": "", "<>": "!"}
_SPACED_RANGE = re.compile(r"(\d[\w.]*)\s*(!?-)\s*(\d[\w.]*)")
_DOTTED_RANGE = re.compile(r"(\d\w*)\s*(?:\.{2,3}|to)\s*(\d\w*)")
_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_UNITS: Mapping[str, str] = {
    **{f"{letter}i": f"{letter.upper()}i" for letter in "kmgtp"},
    **{f"{letter}ib": f"{letter.upper()}i" for letter in "kmgtp"},
    **{letter: letter.upper() for letter in "gtp"},
    **{f"{letter}b": letter.upper() for letter in "mgtp"},
    **dict.fromkeys(("k", "kb"), "k"),
    **dict.fromkeys(("cpu", "cpus", "core", "cores", "b", "byte", "bytes"), ""),
    **dict.fromkeys(("mcpu", "millicores"), "m"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs"), "h"),
}
"""The units of Kubernetes for others, in lower case."""
_IN_HOURS: Mapping[str, int] = {
    **dict.fromkeys(("d", "day", "days"), 24),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 24),
}
"""Units that durations do not have."""
_OF_TEXTS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "data"})
"""Fields whose values may be texts that look like ranges."""
_BYTES = frozenset({"memory", "storage", "ephemeral-storage", "sizeLimit"})
_AMOUNTS = frozenset({*_BYTES, "cpu"})
_NAMES = frozenset({"image", "name", "namespace", "serviceAccountName", "storageClassName"})
"""Fields whose values have no commas."""
_ESCAPED = re.compile(r"(?<![\w:\\])\\[*?]")


def validation_patterns(rule: RuleNode) -> Iterator[Pattern]:
    """Yield the validation patterns of a rule, also those of its loops."""
    pending: list[RuleNode | ForEachValidation] = [rule]
    while pending:
        one = pending.pop()
        section = one.validate if isinstance(one, RuleNode) else one
        if section is not None:
            yield from filter(None, (section.pattern, *(section.any_pattern or ())))
            pending += section.foreach or ()


def misread_patterns(policy: Policy) -> Iterator[Diagnostic]:
    """KV306 to KV310, KV340 and KV360: parts of patterns that do not mean what they seem to mean.

    upstream: pkg/engine/pattern/pattern.go, pkg/engine/operator/operator.go,
    pkg/engine/anchor/handlers.go
    """
    images: list[PatternLeaf] = []
    for rule in policy.rules:
        for pattern in validation_patterns(rule.tree) if rule.tree.validate else ():
            if not _demands(pattern.root):
                text = (
                    "the pattern consists of conditions `( )` only, so it requires nothing: add "
                    "the required fields without parentheses"
                )
                yield warn(policy.document, "KV310", text, pattern.path)
            has_negations = NEGATION in pattern.root.anchors
            for one in walk(pattern.root):
                if isinstance(one, PatternLeaf) and isinstance(one.data, str):
                    images += [one] * _is_image(one)
                    yield from _misread_leaf(policy, one, one.data)
                elif has_negations and isinstance(one, PatternEntry) and one.anchor == NEGATION:
                    yield from _ignored_value(policy, one)
                elif isinstance(one, PatternEntry) and one.text.startswith("!"):
                    text = (
                        f"no object has the field `{one.text}`: `!` negates values, and not keys "
                        f"(write `X({one.text.strip('!() ')}): null` for a field that must be "
                        "missing)"
                    )
                    yield warn(policy.document, "KV306", text, one.path)

    yield from _untagged_images(policy, images)


_NOT_LATEST = "!*:latest"


def _untagged_images(policy: Policy, images: Sequence[PatternLeaf]) -> Iterator[Diagnostic]:
    """Yield patterns that only forbid the tag `latest`, if none of the policy requires a tag."""
    if any(":" in one.data or "@" in one.data for one in images if one.data != _NOT_LATEST):
        return
    for one in images:
        if one.data == _NOT_LATEST:
            text = (
                "an image without a tag is `latest`, too, and this accepts it: write "
                f'`"*:* & {_NOT_LATEST}"`'
            )
            yield warn(policy.document, "KV360", text, one.path)


def _is_image(leaf: PatternLeaf) -> bool:
    return str(leaf.path[-1]).strip("=<^X()") == "image"


_ABSENT: tuple[Json, ...] = (None, "null", {}, [])
"""Values of negation anchors, besides wildcards, for a field that must be missing."""


def _ignored_value(policy: Policy, entry: PatternEntry) -> Iterator[Diagnostic]:
    value = entry.value.data
    if value in _ABSENT or is_open(value) or (isinstance(value, str) and not value.strip("*?")):
        return
    text = (
        f"the value of a negation anchor is ignored: objects must not have the field `{entry.key}`"
    )
    if isinstance(value, bool | str | int | float):
        # `=(key)` is the anchor that allows the field to be missing.
        meant = str(not value).lower() if isinstance(value, bool) else f'"!{value}"'
        text = f"{text} with any value (write `=({entry.key}): {meant}` to forbid only this one)"
    yield warn(policy.document, "KV340", text, entry.path)


_ALWAYS_THERE = frozenset({"metadata", "spec", "template", "jobTemplate", "containers"})
"""Fields that all objects with them in their patterns have."""


def _demands(node: PatternNode) -> bool:
    """Return whether an object can fail a part of a pattern: not if all values are conditions."""
    if isinstance(node, PatternMap):
        # A plain key demands that the field exists.
        return not node.entries or any(
            (one.anchor is None and one.key not in _ALWAYS_THERE) or _demands(one.value)
            for one in node.entries
            if one.anchor not in _SKIPPING
        )
    if isinstance(node, PatternList):
        return not node.items or any(map(_demands, node.items))
    return True


def _misread_leaf(policy: Policy, leaf: PatternLeaf, text: str) -> Iterator[Diagnostic]:
    if _SIGNS.isdisjoint(text) and not text[:1].isdigit() and not _is_image(leaf):
        return
    if is_open(text):
        return
    for code, problem, meant in _text_problems(leaf, text):
        fix = None
        if meant and isinstance(leaf.path[-1], str):
            changes = (change(policy.document, ChangeKind.VALUE, leaf.path, meant),)
            fix = Fix(f"use `{meant}`", changes)
        yield warn(policy.document, code, problem, leaf.path, fix=fix)
        return


def _text_problems(leaf: PatternLeaf, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield codes, problems and corrected strings."""
    field = next((str(step) for step in reversed(leaf.path) if isinstance(step, str)), "")
    for alternative in leaf.alternatives:
        for atom in alternative:
            if isinstance(atom, Comparison):
                yield from _comparison_problems(text, field.strip("=<^X()"), atom)
                yield from _name_problems(text, field, atom)
            elif not _OF_TEXTS.isdisjoint(map(str, leaf.path)):
                continue
            elif any(map(_is_text, (atom.first, atom.last))):
                ends = f"`{atom.first}` and `{atom.last}`"
                problem = f"is not a range of numbers, quantities or durations: {ends}"
                meant = _with_unit(text, f"-{atom.last}")
                yield "KV307", f"`{text}` {problem}{unit_hint(atom.last)}", meant
            elif (order(atom.first, atom.last) or 0) > 0:
                holds = "no number is" if atom.inside else "every number is"
                where = "in" if atom.inside else "outside of"
                sign = "-" if atom.inside else "!-"
                swapped = f"{atom.last}{sign}{atom.first}"
                whole = text.replace(f"{atom.first}{sign}{atom.last}", swapped)
                problem = f"{holds} {where} the range `{text}`: the smaller end comes first"
                yield "KV308", f"{problem}: `{swapped}`", whole
        yield from _joined_problems(text, alternative)
    yield from _alternative_problems(text, leaf)


def _comparison_problems(text: str, field: str, atom: Comparison) -> Iterator[tuple[str, str, str]]:
    sign, operand = atom
    written = f"{sign}{operand}"
    if found := _MISPLACED.fullmatch(written) or _MISPLACED.fullmatch(operand):
        meant = _MEANT[found["sign"]]
        meant = "!" if sign == "!" else meant
        shown = f"!{found['sign']}" if sign == "!" else found["sign"]
        rest = found["rest"].strip()
        right = f"`{meant}{rest}`" if meant else f"`{rest}` for equality"
        problem = (
            f"`{shown}` is not an operator, so `{text}` is compared as a string: write {right}"
        )
        yield "KV306", problem, f"{meant}{rest}" if text.strip() == written.strip() else ""
    elif sign in _ORDERS and field in _BYTES and (meant := few_bytes(operand)):
        yield "KV307", f"`{operand}` means bytes: write `{sign}{meant}`", ""
    elif sign in _ORDERS and _is_text(operand):
        problem = (
            f"`{text}` never matches: `{operand}` is not a number, quantity or duration"
            f"{_milli_hint(field, operand) or unit_hint(operand)}"
        )
        is_milli = bool(_milli_hint(field, operand))
        yield "KV307", problem, "" if is_milli else _with_unit(text, operand)
    elif not sign and (found := _SPACED_RANGE.fullmatch(operand)) and " " in operand:
        meant = "".join(found.groups())
        problem = f"`{text}` is not a range, since it contains spaces: write `{meant}`"
        yield "KV308", problem, meant if text == operand and field not in _NAMES else ""
    elif not sign and (found := _DOTTED_RANGE.fullmatch(operand)):
        meant = "-".join(found.groups())
        yield "KV308", f"`{text}` is not a range: write `{meant}`", meant
    elif field in _AMOUNTS and not has_wildcard(operand):
        yield from _amount_problems(text, field, operand)
    if operand.startswith("^") or (operand.endswith("$") and "*" in operand):
        problem = f"`{text}` is not a regular expression: patterns are wildcards with `*` and `?`"
        yield "KV309", problem, ""
    elif _ESCAPED.search(operand):
        problem = (
            f"`{text}` contains a backslash: patterns have no escapes, so `*` and `?` stay "
            "wildcards and the backslash has to be in the value (compare it in JMESPath)"
        )
        yield "KV309", problem, ""


_NEEDLESS = re.compile(r"(?<![\\:])\\(?=[.*+?^$(){}|\[\]/@-])")
_OF_WINDOWS = re.compile(r"\\\w|\\\\")
"""What paths with backslashes and regular expressions contain."""


def needless_escape(text: str) -> str:
    """Return that a constant has a backslash before a sign, as regular expressions do, or ""."""
    found = None if _OF_WINDOWS.search(text) else _NEEDLESS.search(text)
    if found is None:
        return ""
    return (
        f"there are no escapes here, so `{text}` contains a backslash before "
        f"`{text[found.end()]}`: write `{_NEEDLESS.sub('', text)}`"
    )


def _name_problems(text: str, field: str, atom: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield names and images that no object has."""
    sign, operand = atom
    name = field.strip("=<^X()")
    if name in _NAMES and "," in operand and not sign:
        meant = " | ".join(part.strip() for part in operand.split(","))
        problem = f"no {name} matches `{text}`: alternatives are separated by `|` (write `{meant}`)"
        yield "KV308", problem, meant if text == operand else ""
    elif name == "image" and sign in {"", "!"} and is_no_image(operand):
        tagged = f"*:* & {_NOT_LATEST}" if sign else "*:latest"
        examples = f"write `{tagged}` for a tag, `{sign}ghcr.io/*` for a registry"
        yield "KV308", f"no image is `{operand}`: {examples}", ""
    elif " " in operand and not operand.strip("* "):
        problem = (
            f"in `{text}` each `*` is a wildcard, so it is about every text with a space: compare "
            "it in JMESPath"
        )
        yield "KV309", problem, ""
    elif sign == "!" and operand == "*" and name == field:  # not of a field that may be missing
        advice = f"for a field that must be missing, write `X({name}): null`"
        yield "KV308", f"no value satisfies `!*`, and neither does a missing one: {advice}", ""


def is_no_image(text: str) -> bool:
    """Return whether no image is equal to a text, which may have wildcards."""
    return text == "latest" or text.startswith((":", "@", "/")) or text.endswith((":", "@", "/"))


_FEW_BYTES = 1 << 20


def few_bytes(value: object) -> str:
    """Return the mebibytes that are meant by an amount of bytes without unit, or ""."""
    is_number = isinstance(value, int) or (isinstance(value, str) and value.isdecimal())
    # Some test with 1 whether there is an amount at all.
    return f"{value}Mi" if is_number and 1 < int(str(value)) < _FEW_BYTES else ""


def _amount_problems(text: str, field: str, operand: str) -> Iterator[tuple[str, str, str]]:
    found = _AMOUNT.fullmatch(operand)
    if found is None:
        return
    unit = found[2]
    if parse_quantity(operand) is None and parse_duration(operand) is None:
        problem = f"`{text}` is not a quantity{unit_hint(operand)}"
        yield "KV307", problem, _with_unit(text, operand)
    elif unit == "m" and field in _BYTES:
        problem = f"`{text}` means thousandths of a byte: write `{found[1]}Mi`"
        yield "KV307", problem, ""
    elif unit.endswith("i") and field == "cpu":
        problem = f"`{text}` is not an amount of CPU: its unit is for bytes (write `{found[1]}m`)"
        yield "KV307", problem, ""


def unit_hint(operand: str) -> str:
    """Return the amount with the unit of Kubernetes for another one, in parentheses, or ""."""
    meant = amount_meant(operand)
    return f" (write `{meant}`)" if meant else ""


def amount_meant(operand: str) -> str:
    """Return an amount with the unit of Kubernetes for another one, or ""."""
    found = _AMOUNT.fullmatch(operand)
    unit = _UNITS.get(found[2].lower()) if found else None
    if found and found[1].isdigit() and found[2].lower() in _IN_HOURS:
        return f"{int(found[1]) * _IN_HOURS[found[2].lower()]}h"
    return f"{found[1]}{unit}" if found and unit is not None else ""


def _with_unit(text: str, operand: str) -> str:
    """Return a pattern with the unit of Kubernetes at its end, or "" if it may not be meant.

    Other programs mean binary units by lower letters, such as `1g`.
    """
    number = operand.lstrip("-")
    is_certain = text.endswith(operand) and number[-2:].isalpha()
    meant = amount_meant(number) if is_certain else ""
    return text.removesuffix(number) + meant if meant else ""


def _milli_hint(field: str, operand: str) -> str:
    """Return the unit for parts of a CPU instead of `mi`, in parentheses, or ""."""
    found = _AMOUNT.fullmatch(operand)
    is_milli = found is not None and field == "cpu" and found[2].lower() == "mi"
    return f" (write `{found[1]}m`)" if found and is_milli else ""


def order(first: str, last: str) -> int | None:
    """Return 1 if the first amount is larger, 0 or -1 if not; None if they cannot be compared."""
    start, end = parse_duration(first), parse_duration(last)
    if start is not None and end is not None:
        return (start > end) - (start < end)
    amount, other = parse_quantity(first), parse_quantity(last)
    return None if amount is None or other is None else amount.compare(other)


def _joined_problems(
    text: str, alternative: tuple[Comparison | Range, ...]
) -> Iterator[tuple[str, str, str]]:
    """Yield conditions joined by `&` that are never true together."""
    comparisons = [one for one in alternative if isinstance(one, Comparison)]
    if len(alternative) < 2:
        return
    if any(one == Comparison("", "") for one in comparisons):
        yield "KV308", f"`{text}` never matches: the operators are `&` and `|`", ""
        return
    equal = [one.operand for one in comparisons if not one.operator]
    lower = [one.operand for one in comparisons if one.operator in {">", ">="}]
    upper = [one.operand for one in comparisons if one.operator in {"<", "<="}]
    crossed = any((order(low, high) or 0) > 0 for low in lower for high in upper)
    if crossed or any(are_apart(one, other) for one, other in combinations(equal, 2)):
        advice = "for alternatives, write `|`"
        yield "KV308", f"no value satisfies `{text}`, since `&` means both: {advice}", ""


def _alternative_problems(text: str, leaf: PatternLeaf) -> Iterator[tuple[str, str, str]]:
    """Yield alternatives one of which is always true."""
    negated = [
        one[0].operand
        for one in leaf.alternatives
        if len(one) == 1 and isinstance(one[0], Comparison) and one[0].operator == "!"
    ]
    if any(are_apart(one, other) for one, other in combinations(negated, 2)):
        problem = f"every value satisfies `{text}`, since `|` means either: write `&`"
        yield "KV308", problem, text.replace("|", "&") if "&" not in text else ""
        return
    single = [one[0] for one in leaf.alternatives if len(one) == 1]
    bounds = [one for one in single if isinstance(one, Comparison) and one.operator in _ORDERS]
    lower, upper = ([one for one in bounds if one.operator[0] == sign] for sign in "><")
    if any(_overlap(low, high) for low in lower for high in upper):
        problem = f"every amount satisfies `{text}`, since `|` means either: write `&`"
        yield "KV308", problem, text.replace("|", "&") if "&" not in text else ""


def _overlap(low: Comparison, high: Comparison) -> bool:
    """Return whether each amount is above the one bound or below the other."""
    difference = order(high.operand, low.operand)
    return difference == 1 or (difference == 0 and "=" in low.operator + high.operator)


def are_apart(one: str, other: str) -> bool:
    """Return whether no string matches both wildcards."""
    if not has_wildcard(one) or not has_wildcard(other):
        pattern, text = (one, other) if has_wildcard(one) else (other, one)
        if not (_is_text(one) and _is_text(other)):
            return False  # Kyverno compares amounts, such as 1 and 1.0
        return not matches(pattern, text)
    starts = [re.split("[*?]", text)[0] for text in (one, other)]
    ends = [re.split("[*?]", text)[-1] for text in (one, other)]
    return not _starts_alike(*starts) or not _starts_alike(ends[0][::-1], ends[1][::-1])


def _is_text(operand: str) -> bool:
    """Return whether a string is neither a number nor another amount."""
    return parse_quantity(operand) is None and parse_duration(operand) is None


def _starts_alike(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


# Strategic merge patches.


def replaced_lists(policies: Iterable[Policy], kinds: KindTable) -> Iterator[Diagnostic]:
    """KV311: a strategic merge that loses the elements of a list.

    upstream: sigs.k8s.io/kustomize/kyaml yaml/walk, which knows the merge keys of Kubernetes' kinds
    """
    for policy in policies:
        for rule in policy.rules:
            if rule.tree.mutate is None:
                continue
            known = [find_type(*one) for one in _merged_kinds(rule.tree, kinds)]
            for pattern in patches(rule.tree) if known else ():
                lost = [dict(_lost_elements(pattern.root, one)) for one in known]
                for path, loss in lost[0].items():
                    if all(path in one for one in lost[1:]):
                        changes = (change(policy.document, ChangeKind.ADD, path, loss.added),)
                        fix = Fix(f"add {loss.added}", changes) if loss.added else None
                        found = warn(policy.document, "KV311", loss.text, path, fix=fix)
                        yield found._replace(severity=loss.severity)


def _merged_kinds(rule: RuleNode, kinds: KindTable) -> list[tuple[str, str]]:
    """Return apiVersion and kind of all objects that a mutate rule patches; [] if not all known."""
    targets = rule.mutate.targets if rule.mutate else None
    if targets is not None:
        found = [(one.api_version, one.kind) for one in targets]
        return [] if any("{{" in text or "*" in text for one in found for text in one) else found
    filters = rule.match.effective
    if not all(one.kinds for one in filters):
        return []
    served = [kinds_served(text, kinds) for one in filters for text in one.kinds]
    return [pair for one in served for pair in one] if all(served) else []


class _Loss(NamedTuple):
    """Why elements of a list are lost."""

    text: str
    added: str = ""
    """What to add to the patch."""
    severity: Severity = Severity.WARNING


def _lost_elements(node: PatternNode, known: MergeField | None) -> Iterator[tuple[Path, _Loss]]:
    """Yield paths of lists or elements that replace or remove others, and why."""
    if not isinstance(node, PatternMap):
        return
    for entry in node.entries:
        if entry.anchor == ADDITION or {"apiVersion", "kind"} <= node.data.keys():
            continue
        below = None if known is None else known.fields.get(entry.key)
        value = entry.value
        if isinstance(value, PatternMap) and entry.key != "metadata":
            yield from _lost_elements(value, _below(known, below))
        elif isinstance(value, PatternList):
            keys = below.keys if below else None
            maps = [one for one in value.items if isinstance(one, PatternMap)]
            if keys and len(keys) == 1:
                yield from _without_key(maps, entry.key, keys[0])
            elif keys is None and (loss := _replaced(entry, maps, known)):
                yield value.path, loss
                continue
            for one in maps:
                yield from _lost_elements(one, _below(known, below))


def _replaced(
    entry: PatternEntry, maps: list[PatternMap], known: MergeField | None
) -> _Loss | None:
    """Return that a list without a merge key is replaced, if more than that may be meant."""
    text = (
        f"this replaces the whole list `{entry.key}`, which has no merge key in this kind: write "
        "`patchesJson6902`"
    )
    if any(_selects(one, known) for one in maps):
        return _Loss(f"{text}, in a `foreach` if needed")
    is_constant = entry.anchor is None and bool(entry.value.data) and not is_open(entry.value.data)
    # Setting the whole list may be the purpose of the rule.
    if is_constant and (maps or known is None):
        text = f"{text} with the path `…/{entry.key}/-` to add elements"
        return _Loss(text, severity=Severity.INFO)
    return None


_NO_FIELDS = MergeField(None, {})


def _below(known: MergeField | None, below: MergeField | None) -> MergeField | None:
    return None if known is None else below or _NO_FIELDS


def _without_key(maps: list[PatternMap], name: str, key: str) -> Iterator[tuple[Path, _Loss]]:
    for one in maps:
        names = {entry.key for entry in one.entries}
        if one.entries and key not in names and "$patch" not in names and not one.anchors:
            added = f'({key}): "*"'
            text = (
                f"without `{key}`, this element removes all elements of `{name}`: add `{added}` "
                "to change each of them"
            )
            yield one.path, _Loss(text, added if key == "name" else "")


def _selects(element: PatternMap, known: MergeField | None) -> bool:
    """Return whether an element of a patch is meant for existing elements."""
    signs = {entry.anchor for entry in element.entries}
    return (
        bool(signs & _SKIPPING)
        or ADDITION in signs
        or (known is None and len(element.entries) > 1 and "name" in element.data)
    )
