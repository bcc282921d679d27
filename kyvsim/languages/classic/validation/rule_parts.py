"""What checks share: how a refusal is made, and ways through rules and their texts."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, Path, contains_text
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy, Rule
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

PolicyCheck: TypeAlias = Callable[[Policy], Iterator[Diagnostic]]


class RuleUnderCheck(NamedTuple):
    """One rule of a policy, and its place among the rules."""

    policy: Policy
    rule: Rule
    position: int

    @property
    def text_path(self) -> str:
        """The rule's path as upstream writes it."""
        return f"spec.rules[{self.position}]"

    def error(self, path: Path, code: str, message: str) -> Diagnostic:
        """Return an error at `path` in the document."""
        return validation_error(self.policy, code, message, path)


_MARKS = ("{{", "$(")
"""With these begin variables and references."""
_ASKED_LEVELS = 6
"""Down to this level, data without any variable is skipped; finding that out reads all below."""
_HOLDERS = frozenset({dict, list})

RuleCheck: TypeAlias = Callable[[RuleUnderCheck], Iterator[Diagnostic]]


def validation_error(policy: Policy, code: str, message: str, path: Path = ()) -> Diagnostic:
    """Return an error at `path` in the policy's document."""
    return Diagnostic(code, Severity.ERROR, message, policy.document.locate(path))


def rules_under_check(policy: Policy) -> Iterator[RuleUnderCheck]:
    """Yield every rule of a policy with its index."""
    for index, rule in enumerate(policy.rules):
        yield RuleUnderCheck(policy, rule, index)


def each_rule(*checks: RuleCheck) -> PolicyCheck:
    """Return a check that runs `checks` on one rule after the other."""

    def check(policy: Policy) -> Iterator[Diagnostic]:
        for subject in rules_under_check(policy):
            for rule_check in checks:
                yield from rule_check(subject)

    return check


def marked_texts(data: Json, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every key and text value with a variable or a reference in it.

    A key has its mapping's path. Goes down without recursion: documents may be deep.
    """
    pending: list[tuple[Path, Json]] = [(path, data)] if contains_text(data, *_MARKS) else []
    while pending:
        place, value = pending.pop()
        if value.__class__ is str and _is_marked(value):
            yield place, value
        elif value.__class__ is dict:
            yield from [(place, key) for key in value if _is_marked(key)]
            pending += _children(place, value.items())
        elif value.__class__ is list:
            pending += _children(place, enumerate(value))


def _children(place: Path, items: Iterable[tuple[str | int, Json]]) -> list[tuple[Path, Json]]:
    """Return the items that are or may hold marked texts, the last one first."""
    asked = len(place) < _ASKED_LEVELS
    found = [
        ((*place, step), child)
        for step, child in items
        if (_is_marked(child) if child.__class__ is str else child.__class__ in _HOLDERS)
        and (not asked or contains_text(child, *_MARKS))
    ]
    found.reverse()
    return found


def _is_marked(text: str) -> bool:
    return "{{" in text or "$(" in text


def is_open(data: Json) -> bool:
    """Return whether there are variables or references in data."""
    return contains_text(data, *_MARKS)


def patch_paths(patch: str) -> list[str]:
    """Return the path of each operation of a JSON patch, "" without one; a broken one has none."""
    try:
        operations: Json = load_one(patch)
    except YamlError:
        return []
    found = [
        operation.get("path") if operation.__class__ is dict else None
        for operation in (operations if operations.__class__ is list else ())
    ]
    return [path if path.__class__ is str else "" for path in found]
