"""The effects of policies on manifests, for tests: inputs of any form, effects and verdicts."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from kyvsim.api import ApplyInputs, Source, open_application
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.diagnostic import Severity
from kyvsim.report.formats import log_safe
from kyvsim.report.object_text import Marked, hunks, marked_lines, yaml_lines
from kyvsim.report.results import Row, compile_rows, generated, mutations, patched_targets, title

Given: TypeAlias = str | os.PathLike[str] | Mapping[str, object] | Iterable["Given"]
"""A path, a YAML text with several lines, an object, or an iterable of these."""


def sources(given: Given, noun: str) -> tuple[str | Source, ...]:
    """Return `given` in the form of the loader; texts and objects are named `<NOUN 1>` and so on.

    Raises TypeError for a value of another type.
    """
    return tuple(
        one if isinstance(one, str) else Source(f"<{noun} {number}>", one.text)
        for number, one in enumerate(_flat(given), 1)
    )


def _flat(given: Given) -> Iterator[str | Source]:
    if isinstance(given, str):
        yield Source("", given) if "\n" in given else given
    elif isinstance(given, os.PathLike):
        yield os.fspath(given)
    elif isinstance(given, Mapping):
        # JSON is YAML: numbers and strings are read as they would be from a file.
        yield Source("", json.dumps(given, ensure_ascii=False))
    else:
        for one in given:
            yield from _flat(one)


class Verdict(NamedTuple):
    """The result of one rule for one resource."""

    policy: str
    rule: str
    resource: str
    """`namespace/Kind/name`, or `Kind/name` without a namespace."""
    result: str
    """pass, fail, warn, error or skip."""
    message: str


class Effect(NamedTuple):
    """The effect of the policies on one resource."""

    resource: object
    mutated: object
    """The resource after mutate rules; None if it is unchanged."""
    generated: tuple[KubernetesObject, ...]
    patched: tuple[KubernetesObject, ...]
    """Other objects that mutate existing rules changed."""
    verdicts: tuple[Verdict, ...]


class UnusableInputError(ValueError):
    """A policy or manifest could not be used, or there is none: a test would be incomplete."""


def apply_policies(policies: Given, manifests: Given, **options: Any) -> tuple[Effect, ...]:
    """Return the effects of policies on all resources of the manifests, in order.

    Both are paths, YAML texts (of several lines), objects, or lists of these. `options` are
    other fields of `kyvsim.api.ApplyInputs`, such as `exceptions`, `targets`, `values_file`,
    `userinfo`, `now`. Raises UnusableInputError if `kyvsim apply` would exit with 2, or if there
    is no policy or no resource.
    """
    inputs = ApplyInputs(
        policies=sources(policies, "policy"),
        resources=sources(manifests, "manifest"),
        **{name: _option(name, value) for name, value in options.items()},
    )
    application = open_application(inputs)
    wrong = [str(one) for one in application.diagnostics if one.severity is Severity.ERROR]
    if not application.policies and not wrong:
        wrong.append("no policy given")
    if not application.resource_count and not wrong:
        wrong.append("no resource given")
    if wrong:
        raise UnusableInputError(log_safe("\n".join(wrong)))
    rows_of = compile_rows(audit_warn=False)
    return tuple(
        Effect(
            resource=response.trigger,
            mutated=response.object if mutations(response) else None,
            generated=tuple(change.object for change in generated(response)),
            patched=tuple(change.object for change in patched_targets(response)),
            verdicts=tuple(map(_verdict, rows_of(response))),
        )
        for response in application.responses
    )


def verdicts(policies: Given, manifests: Given, **options: Any) -> tuple[Verdict, ...]:
    """Return the result of every rule for every resource; arguments are those of apply_policies."""
    effects = apply_policies(policies, manifests, **options)
    return tuple(verdict for effect in effects for verdict in effect.verdicts)


def _option(name: str, value: Any) -> Any:
    if name in {"targets", "exceptions"}:
        return sources(value, name.removesuffix("s"))
    if name in {"set_values", "crd_paths"}:
        one = isinstance(value, str | os.PathLike)
        return tuple(map(os.fspath, (value,) if one else value))
    return os.fspath(value) if name in {"values_file", "userinfo", "context_file"} else value


def _verdict(row: Row) -> Verdict:
    result = row.result
    return Verdict(
        row.policy.key, result.rule.name, title(row.resource), str(row.status), result.message
    )


_HEAD = "# What policies do to manifests. Written by: pytest --update-golden"
_BREAK = "---"


def golden_text(effects: Iterable[Effect]) -> str:
    """Return the text of a golden file of effects: YAML, one document for each resource.

    The messages of passed rules are omitted. The same effects always give the same bytes.
    """
    lines = [_HEAD]
    for effect in effects:
        lines += [_BREAK, *_document(effect)]
    return "\n".join([*lines, ""])


def _document(effect: Effect) -> Iterator[str]:
    yield from yaml_lines(title(effect.resource), "resource:", 2)
    if not effect.verdicts:
        yield "verdicts: []"
    else:
        yield "verdicts:"
        for verdict in effect.verdicts:
            yield from yaml_lines(verdict.policy, "- policy:", 4)
            yield from yaml_lines(verdict.rule, "  rule:", 4)
            yield from yaml_lines(verdict.result, "  result:", 4)
            if verdict.result != "pass":
                yield from yaml_lines(verdict.message, "  message:", 4)
    if effect.mutated is not None:
        yield from yaml_lines(effect.mutated, "mutated:", 2)
    for key, objects in (("generated:", effect.generated), ("patched:", effect.patched)):
        if objects:
            yield from yaml_lines(list(objects), key, 2)


def text_difference(golden: str, now: str) -> str:
    """Return the differences of two texts by resource, "" if there are none.

    Lines that only the golden file has are marked with `-`, new lines with `+`.
    """
    if golden.splitlines() == now.splitlines():
        return ""
    before, after = _documents(golden), _documents(now)
    lines: list[str] = []
    for name in dict.fromkeys([*after, *before]):
        marked = [*hunks(marked_lines(before.get(name, []), after.get(name, [])))]
        if marked:
            lines += [name, *map(_shown, marked)]
    if not lines:  # the same documents in another order
        marked = [*hunks(marked_lines(golden.splitlines(), now.splitlines()))]
        lines += map(_shown, marked)
    return "\n".join(lines)


def _shown(line: Marked) -> str:
    mark, text = line
    return "    ..." if mark == "@" else f"    {mark} {text}".rstrip()


def _documents(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    document: list[str] = []
    for line in [*text.splitlines(), _BREAK]:
        if line != _BREAK:
            document.append(line)
            continue
        if document:
            name = document[0].removeprefix("resource: ")
            count = sum(one == name or one.startswith(f"{name} #") for one in found)
            name = f"{name} #{count + 1}" if count else name
            found[name] = document
        document = []
    return found


def golden_difference(effects: Iterable[Effect], path: str | Path) -> str:
    """Return the differences of effects and a golden file, "" if there are none.

    A missing file counts as empty: all effects are new.
    """
    file = Path(path)
    golden = file.read_text(encoding="utf-8") if file.exists() else ""
    return text_difference(golden, golden_text(effects))


def write_golden(effects: Iterable[Effect], path: str | Path) -> None:
    """Write effects to a golden file; missing folders are created."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(golden_text(effects), encoding="utf-8", newline="\n")
