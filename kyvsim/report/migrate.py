"""Results of `migrate` as text, HTML and JSON, and the new policies as YAML."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.comparison import Answer, Evidence
from kyvsim.model.migration import Conversion, ConversionOutcome, Migration, RuleOutcome
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import (
    ending_json,
    error_fact,
    informing,
    left_out_fact,
    warning_fact,
    weighing,
)
from kyvsim.report.equal import Equality, evidence_json
from kyvsim.report.equal import render_text as render_evidence
from kyvsim.report.evidence import ShownEvidence, shown_evidence
from kyvsim.report.log_commands import has_log_command
from kyvsim.report.object_text import scalar, to_json, yaml_lines
from kyvsim.report.page import TableEntry, ending_of, page, table_of
from kyvsim.report.style import counted, safe_line

# Policies as YAML that people go on with: keys in their order, long texts as blocks, comments.

_WIDTH = 100
_WORD = re.compile(r"(?:(?<!\w)'[^']*'|[^ ])+")
"""What a line is not broken in: what is in quotes, as texts of expressions do."""
_ENTRIES = frozenset({"validations", "mutations", "generate", "conditions"})
"""Fields of which each entry is made of a rule."""


def policy_yaml(
    policy: Mapping[str, Json], head: Sequence[str], above: Mapping[int, Sequence[str]]
) -> str:
    """Return a policy as one document; `above` are comments of entries, by their place."""
    lines = [*head]
    for key, value in policy.items():
        if key == "spec":
            lines += ["spec:", *_spec(value, above)]
        else:
            lines += _entry(key, value, 0)
    return "\n".join([*lines, ""])


def document_yaml(data: Mapping[str, Json]) -> str:
    """Return an object as one document, its keys in their order."""
    return "\n".join([line for key, value in data.items() for line in _entry(key, value, 0)] + [""])


def _spec(spec: Mapping[str, Json], above: Mapping[int, Sequence[str]]) -> Iterator[str]:
    for key, value in spec.items():
        if key in _ENTRIES:
            yield f"  {key}:"
            for place, one in enumerate(value):
                yield from (f"  {comment}" for comment in above.get(place, ()))
                yield from _item(one, 2)
        else:
            yield from _entry(key, value, 2)


def _entry(key: str, value: Json, indent: int) -> Iterator[str]:
    pad = " " * indent
    if value and isinstance(value, dict):
        yield f"{pad}{scalar(key)}:"
        for below, one in value.items():
            yield from _entry(below, one, indent + 2)
    elif value and isinstance(value, list):
        yield f"{pad}{scalar(key)}:"
        for one in value:
            yield from _item(one, indent)
    elif isinstance(value, str):
        yield from _text(f"{pad}{scalar(key)}:", value, indent + 2)
    else:
        yield from yaml_lines(value, f"{pad}{scalar(key)}:", indent)


def _item(value: Json, indent: int) -> Iterable[str]:
    pad = " " * indent
    if value and isinstance(value, dict):
        lines = [line for key, one in value.items() for line in _entry(key, one, indent + 2)]
        return [f"{pad}- {lines[0][indent + 2 :]}", *lines[1:]]
    if isinstance(value, str):
        return _text(f"{pad}-", value, indent + 2)
    return yaml_lines(value, f"{pad}- ", indent + 2)


def _text(lead: str, text: str, indent: int) -> Iterator[str]:
    """Yield a text: on the line of its key, folded where it is long, or as it is."""
    pad = " " * indent
    short = f"{lead} {scalar(text)}"
    if "\n" in text.rstrip("\n") and _is_block(text):
        yield f"{lead} |{_ending(text)}"
        yield from (f"{pad}{line}".rstrip() for line in text.rstrip("\n").split("\n"))
        return
    if len(short) > _WIDTH and "\n" not in text and _folds(text):
        lines = [*_folded(text, _WIDTH - indent)]
        if not has_log_command("\n".join(lines)):  # a word that begins a line now may be one
            yield f"{lead} >-"
            yield from (f"{pad}{line}" for line in lines)
            return
    yield short


def _ending(text: str) -> str:
    trailing = len(text) - len(text.rstrip("\n"))
    return ("-", "", "+")[min(trailing, 2)]


def _is_block(text: str) -> bool:
    """Return whether a text means the same as a block."""
    lines = text.split("\n")
    return (
        not text.startswith((" ", "\n", "\t"))
        and not text.endswith("\n\n")
        and not has_log_command(text)
        and all(line == line.rstrip() and (line.isprintable() or not line) for line in lines)
    )


def _folds(text: str) -> bool:
    return text.isprintable() and text == text.strip() and "  " not in text


def _folded(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in _words(text, width):
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def _words(text: str, width: int) -> Iterator[str]:
    for word in _WORD.findall(text):
        yield from (word,) if len(word) <= width else word.split(" ")


# What became of policies, for people: a line for each rule, and what it hangs on.


def render_text(migration: Migration) -> Iterator[str]:
    """Yield the lines of each policy."""
    for conversion, evidence in migration.pairs:
        yield from _migrate_text_policy(conversion, _checked(evidence))
        if evidence is not None:
            shown = list(render_evidence(Equality(evidence, ())))
            if evidence.answer is Answer.EQUAL:
                # What was not tried is shown in any case: equal is no more than what was.
                shown = [
                    *shown[:1],
                    *(f"  not tried: {safe_line(one)}\n" for one in evidence.untried),
                ]
            yield from (f"  {line}".rstrip(" ") for line in shown)
        yield "\n"


def _checked(evidence: Evidence | None) -> str:
    """Return what is to be reported about rules that are converted: whether that was checked."""
    if evidence is None:
        return " (not checked)"
    return " (see the counterexample)" if evidence.answer is Answer.COUNTEREXAMPLE else ""


def _migrate_text_policy(conversion: Conversion, checked: str) -> Iterator[str]:
    policy = conversion.policy
    yield f"{safe_line(f'{policy.kind} {policy.key} ({policy.document.file})')}\n"
    for one in conversion.rules:
        yield from _migrate_text_rule(
            one, "" if one.outcome is ConversionOutcome.REFUSED else checked
        )
    for made in conversion.made:
        data = made.data
        why = f" (`{made.wanted}` is not a valid policy name)" if made.wanted else ""
        yield f"  -> {safe_line(str(data['kind']))} {safe_line(data['metadata']['name'] + why)}\n"


def _migrate_text_rule(one: RuleOutcome, checked: str) -> Iterator[str]:
    yield f"  {safe_line(one.rule)}: {one.outcome.value}{checked}\n"
    if one.outcome is ConversionOutcome.REFUSED:
        yield f"    {safe_line(f'{one.location}: {one.path}')}\n"
        yield f"    {safe_line(one.reason)}\n"
        yield f"    {safe_line(one.advice)}\n"
    for note in one.notes:
        yield f"    {safe_line(f'{note.condition.name}: {note.condition.text}')}\n"


# How converting policies ended.


def migration_ending(migration: Migration) -> RunEnding:
    """Return how it ended: rules that are not converted make it fail."""
    found = [rule.outcome for one in migration.conversions for rule in one.rules]
    refused, conditional = (
        found.count(ConversionOutcome.REFUSED),
        found.count(ConversionOutcome.CONDITIONAL),
    )
    shown = f"{counted(len(found), 'rule')} in {counted(len(migration.conversions), 'policy')}"
    return RunEnding(
        (
            error_fact(migration.diagnostics),
            weighing("notConverted", refused, f"{counted(refused, 'rule')} not converted"),
            *_evidence_facts(migration),
            Fact("rules", len(found), shown, RunVerdict.PASSED if found else RunVerdict.NOTHING),
            informing("conditional", conditional, f"{conditional} converted with conditions"),
            left_out_fact(len(frozenset(migration.left_out))),
            warning_fact(migration.diagnostics),
        )
    )


def _evidence_facts(migration: Migration) -> tuple[Fact, ...]:
    answers = [one.answer for one in migration.evidence if one is not None]
    others = answers.count(Answer.COUNTEREXAMPLE)
    uncovered = answers.count(Answer.NOT_COVERED)
    unchecked = sum(one.is_whole and found is None for one, found in migration.pairs)
    equal = answers.count(Answer.EQUAL)
    return (
        weighing("counterexamples", others, f"{counted(others, 'policy')} with a counterexample"),
        weighing("notCovered", uncovered, f"{counted(uncovered, 'policy')} not covered"),
        informing("equal", equal, f"{equal} equal"),
        informing("notChecked", unchecked, f"{counted(unchecked, 'policy')} not checked (--check)"),
    )


# What became of policies as one JSON document.


def render_json(migration: Migration) -> Iterator[str]:
    """Yield the document: `policies`, `diagnostics`, `ending`."""
    listed = ",\n  ".join(to_json(_migrate_json_policy(*pair)) for pair in migration.pairs)
    yield '{"policies": [' + (f"\n  {listed}" if listed else "") + "]"
    remarks = ",\n  ".join(to_json(diagnostic_json(one)) for one in migration.diagnostics)
    yield ',\n"diagnostics": [' + (f"\n  {remarks}" if remarks else "") + "]"
    yield f',\n"ending": {to_json(ending_json(migration_ending(migration)))}}}\n'


def _migrate_json_policy(conversion: Conversion, evidence: Evidence | None) -> Json:
    policy = conversion.policy
    return {
        "kind": policy.kind,
        "policy": policy.key,
        "file": policy.document.file,
        "outcome": conversion.outcome.value,
        "rules": [_migrate_json_rule(one) for one in conversion.rules],
        "made": [one.data for one in conversion.made],
        "renamed": {
            one.wanted: one.data["metadata"]["name"] for one in conversion.made if one.wanted
        },
        "evidence": None if evidence is None else evidence_json(evidence),
    }


def _migrate_json_rule(one: RuleOutcome) -> Json:
    return {
        "rule": one.rule,
        "outcome": one.outcome.value,
        "file": one.location.file,
        "line": one.location.line,
        "column": one.location.column,
        "path": one.path,
        "reason": one.reason,
        "advice": one.advice,
        "conditions": [
            {"name": note.condition.name, "text": note.condition.text} for note in one.notes
        ],
    }


# What became of policies as one page for a browser, with the new policies and the evidence.

_LOOKS: Mapping[ConversionOutcome, str] = MappingProxyType(
    {
        ConversionOutcome.REFUSED: "bad",
        ConversionOutcome.CONDITIONAL: "warn",
        ConversionOutcome.CONVERTED: "good",
    }
)
"""How outcomes look, those that weigh most first."""


class _PageRule(NamedTuple):
    """What became of a rule."""

    told: RuleOutcome
    looks: str
    notes: tuple[tuple[str, str], ...]
    """Names and texts of conditions."""


class _PagePolicy(NamedTuple):
    """What became of a policy."""

    kind: str
    key: str
    file: str
    rules: tuple[_PageRule, ...]
    text: str
    evidence: ShownEvidence | None


def render_html(migration: Migration) -> Iterator[str]:
    """Yield the page in pieces, the policies in the order in which they were given."""
    found = zip(migration.pairs, migration.texts, strict=True)
    rules = (
        TableEntry(one.policy.key, rule.outcome.value)
        for one in migration.conversions
        for rule in one.rules
    )
    return page(
        "migrate.html",
        style=("evidence.css",),
        ending=ending_of(migration_ending(migration)),
        remarks=migration.diagnostics,
        tables=(table_of("policy", rules, tuple(one.value for one in _LOOKS)),),
        policies=[_migrate_html_policy(one, evidence, text) for (one, evidence), text in found],
    )


def _migrate_html_policy(one: Conversion, evidence: Evidence | None, text: str) -> _PagePolicy:
    policy = one.policy
    return _PagePolicy(
        kind=policy.kind,
        key=policy.key,
        file=policy.document.file,
        rules=tuple(map(_migrate_html_rule, one.rules)),
        text=text,
        evidence=None if evidence is None else shown_evidence(evidence),
    )


def _migrate_html_rule(one: RuleOutcome) -> _PageRule:
    notes = dict.fromkeys((note.condition.name, note.condition.text) for note in one.notes)
    return _PageRule(one, _LOOKS[one.outcome], tuple(notes))
