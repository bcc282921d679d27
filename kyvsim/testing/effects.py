"""The effects of policies on manifests, for tests, and their golden files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Unpack

from kyvsim.api.library import Given, InputOptions, apply
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.report.object_text import Marked, hunks, marked_lines, yaml_lines
from kyvsim.report.results import Row, compile_rows, generated, mutations, patched_targets, title


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


def apply_policies(
    policies: Given, manifests: Given, **options: Unpack[InputOptions]
) -> tuple[Effect, ...]:
    """Return the effects of policies on all resources of the manifests, in order.

    Arguments, options and errors are those of `kyvsim.apply`.
    """
    rows_of = compile_rows(audit_warn=options.get("audit_warn", False))
    return tuple(
        Effect(
            resource=response.trigger,
            mutated=response.object if mutations(response) else None,
            generated=tuple(change.object for change in generated(response)),
            patched=tuple(change.object for change in patched_targets(response)),
            verdicts=tuple(map(_verdict, rows_of(response))),
        )
        for response in apply(policies, manifests, **options).responses
    )


def verdicts(
    policies: Given, manifests: Given, **options: Unpack[InputOptions]
) -> tuple[Verdict, ...]:
    """Return the result of every rule for every resource; arguments are those of apply_policies."""
    effects = apply_policies(policies, manifests, **options)
    return tuple(verdict for effect in effects for verdict in effect.verdicts)


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
