"""Results of `migrate` as text, HTML and JSON, and the new policies as YAML."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kyvsim.kubernetes.objects import Json
from kyvsim.model.comparison import Answer
from kyvsim.model.migration import ConversionOutcome, Migration
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.equal import (
    Equality,
    coverage_lines,
    evidence_json,
    not_reached,
    shown_evidence,
)
from kyvsim.report.equal import render_text as render_evidence
from kyvsim.report.formats import has_log_command
from kyvsim.report.object_text import json_document, scalar, yaml_lines
from kyvsim.report.page import TableEntry, ending_of, page, table_of
from kyvsim.report.run import (
    ending_json,
    error_fact,
    info_fact,
    left_out_fact,
    verdict_fact,
    warning_fact,
)
from kyvsim.report.style import counted, safe_line

_WIDTH = 100
_WORD = re.compile(r"(?:(?<!\w)'[^']*'|[^ ])+")
"""Lines are not broken within these: quoted strings, such as those of expressions, and words."""
_ENTRIES = frozenset({"validations", "mutations", "generate", "conditions"})
"""Fields that have one entry for each rule."""


def policy_yaml(
    policy: Mapping[str, Json], head: Sequence[str], above: Mapping[int, Sequence[str]]
) -> str:
    """Return a policy as YAML for further editing: keys in their order, long texts as blocks.

    `above` contains comments for entries, by index.
    """
    lines = [*head]
    for key, value in policy.items():
        if key != "spec":
            lines += _entry(key, value, 0)
            continue
        lines.append("spec:")
        for name, field in value.items():
            if name not in _ENTRIES:
                lines += _entry(name, field, 2)
                continue
            lines.append(f"  {name}:")
            for place, item in enumerate(field):
                lines += (f"  {comment}" for comment in above.get(place, ()))
                lines += _item(item, 2)
    return "\n".join([*lines, ""])


def document_yaml(data: Mapping[str, object]) -> str:
    """Return an object as one YAML document with keys in their order."""
    return "\n".join([line for key, value in data.items() for line in _entry(key, value, 0)] + [""])


def _entry(key: str, value: object, indent: int) -> Iterator[str]:
    pad = " " * indent
    if value and isinstance(value, dict):
        yield f"{pad}{scalar(key)}:"
        for below, member in value.items():
            yield from _entry(below, member, indent + 2)
    elif value and isinstance(value, list):
        yield f"{pad}{scalar(key)}:"
        for member in value:
            yield from _item(member, indent)
    elif isinstance(value, str):
        yield from _text(f"{pad}{scalar(key)}:", value, indent + 2)
    else:
        yield from yaml_lines(value, f"{pad}{scalar(key)}:", indent)


def _item(value: object, indent: int) -> Iterable[str]:
    pad = " " * indent
    if value and isinstance(value, dict):
        lines = [line for key, member in value.items() for line in _entry(key, member, indent + 2)]
        return [f"{pad}- {lines[0][indent + 2 :]}", *lines[1:]]
    if isinstance(value, str):
        return _text(f"{pad}-", value, indent + 2)
    return yaml_lines(value, f"{pad}- ", indent + 2)


def _text(lead: str, text: str, indent: int) -> Iterator[str]:
    """Yield a text: on the line of its key, or as a folded or literal block."""
    pad = " " * indent
    body = text.rstrip("\n")
    # A text of several lines that a literal block can represent.
    if (
        "\n" in body
        and not text.startswith((" ", "\n", "\t"))
        and not text.endswith("\n\n")
        and not has_log_command(text)
        and all(
            line == line.rstrip() and (line.isprintable() or not line) for line in text.split("\n")
        )
    ):
        yield f"{lead} |{'-' if body == text else ''}"
        yield from (f"{pad}{line}".rstrip() for line in body.split("\n"))
        return
    short = f"{lead} {scalar(text)}"
    if len(short) > _WIDTH and text.isprintable() and text == text.strip() and "  " not in text:
        width = _WIDTH - indent
        lines: list[str] = []
        for word in _WORD.findall(text):
            for part in (word,) if len(word) <= width else word.split(" "):
                if lines and len(lines[-1]) + 1 + len(part) <= width:
                    lines[-1] += f" {part}"
                else:
                    lines.append(part)
        if not has_log_command(
            "\n".join(lines)
        ):  # a word at the beginning of a line may be a command
            yield f"{lead} >-"
            yield from (f"{pad}{line}" for line in lines)
            return
    yield short


def render_text(migration: Migration) -> Iterator[str]:
    """Yield the lines of each policy."""
    for conversion, evidence in migration.pairs:
        checked = "" if evidence else " (not checked)"
        if evidence and evidence.answer is Answer.COUNTEREXAMPLE:
            checked = " (see the counterexample)"
        policy = conversion.policy
        yield f"{safe_line(f'{policy.kind} {policy.key} ({policy.document.file})')}\n"
        for rule in conversion.rules:
            is_refused = rule.outcome is ConversionOutcome.REFUSED
            of_rule = "" if is_refused else checked
            yield f"  {safe_line(rule.rule)}: {rule.outcome.value}{of_rule}\n"
            texts = [f"{rule.location}: {rule.path}", rule.reason, rule.advice]
            texts = [*(texts if is_refused else ()), *(f"{a}: {b}" for a, b in rule.conditions)]
            yield from (f"    {safe_line(text)}\n" for text in texts)
        for made in conversion.made:
            why = f" (`{made.wanted}` is not a valid policy name)" if made.wanted else ""
            name = safe_line(made.data["metadata"]["name"] + why)
            yield f"  -> {safe_line(str(made.data['kind']))} {name}\n"
        if evidence is not None:
            shown = list(render_evidence(Equality(evidence, ())))
            if evidence.answer is Answer.EQUAL:
                # Only the answer, and what limits the evidence.
                is_limited = bool(evidence.unreached or evidence.untried)
                shown = [*shown[:1], *(coverage_lines(evidence) if is_limited else ())]
            lines = "".join(shown).split("\n")[:-1]
            yield from (f"  {line}\n" for line in lines)
        yield "\n"


def migration_ending(migration: Migration) -> RunEnding:
    """Return the result of `migrate`; rules that are not converted fail it."""
    outcomes = [rule.outcome for conversion in migration.conversions for rule in conversion.rules]
    refused = outcomes.count(ConversionOutcome.REFUSED)
    conditional = outcomes.count(ConversionOutcome.CONDITIONAL)
    answers = [evidence.answer for evidence in migration.evidence if evidence is not None]
    equal, others, uncovered = (
        answers.count(answer)
        for answer in (Answer.EQUAL, Answer.COUNTEREXAMPLE, Answer.NOT_COVERED)
    )
    limited = sum(bool(one and not_reached(one)) for one in migration.evidence)
    partly = f" ({limited} of them with outcomes that no case reached)" if limited else ""
    pairs = migration.pairs
    unchecked = sum(conversion.is_whole and not evidence for conversion, evidence in pairs)
    shown = f"{counted(len(outcomes), 'rule')} in {counted(len(migration.conversions), 'policy')}"
    verdict = RunVerdict.PASSED if outcomes else RunVerdict.NOTHING
    policies = {n: counted(n, "policy") for n in (others, uncovered, unchecked)}
    return RunEnding(
        (
            error_fact(migration.diagnostics),
            verdict_fact("notConverted", refused, f"{counted(refused, 'rule')} not converted"),
            verdict_fact("counterexamples", others, f"{policies[others]} with a counterexample"),
            verdict_fact("notCovered", uncovered, f"{policies[uncovered]} not covered"),
            info_fact("equal", equal, f"{equal} equal{partly}"),
            info_fact("notChecked", unchecked, f"{policies[unchecked]} not checked (--check)"),
            Fact("rules", len(outcomes), shown, verdict),
            info_fact("conditional", conditional, f"{conditional} converted with conditions"),
            left_out_fact(len(frozenset(migration.left_out))),
            warning_fact(migration.diagnostics),
        )
    )


def render_json(migration: Migration) -> Iterator[str]:
    """Yield the document: `policies`, `diagnostics`, `ending`."""
    policies = (
        {
            "kind": conversion.policy.kind,
            "policy": conversion.policy.key,
            "file": conversion.policy.document.file,
            "outcome": conversion.outcome.value,
            "rules": [
                {
                    "rule": rule.rule,
                    "outcome": rule.outcome.value,
                    **rule.location._asdict(),
                    "path": rule.path,
                    "reason": rule.reason,
                    "advice": rule.advice,
                    "conditions": [condition._asdict() for condition in rule.conditions],
                }
                for rule in conversion.rules
            ],
            "made": [made.data for made in conversion.made],
            "renamed": {
                made.wanted: made.data["metadata"]["name"]
                for made in conversion.made
                if made.wanted
            },
            "evidence": None if evidence is None else evidence_json(evidence),
        }
        for conversion, evidence in migration.pairs
    )
    yield from json_document(
        "migrate",
        {
            "policies": policies,
            "diagnostics": map(diagnostic_json, migration.diagnostics),
            "ending": ending_json(migration_ending(migration)),
        },
    )


_STYLES: Mapping[ConversionOutcome, str] = {
    ConversionOutcome.REFUSED: "bad",
    ConversionOutcome.CONDITIONAL: "warn",
    ConversionOutcome.CONVERTED: "good",
}
"""Styles of outcomes, worst first."""


def render_html(migration: Migration) -> Iterator[str]:
    """Yield the page in pieces, with the policies in input order."""
    rules = (
        TableEntry(conversion.policy.key, rule.outcome.value)
        for conversion in migration.conversions
        for rule in conversion.rules
    )
    policies = [
        (conversion, evidence and shown_evidence(evidence), text)
        for (conversion, evidence), text in zip(migration.pairs, migration.texts, strict=True)
    ]
    return page(
        "migrate.html",
        style=("evidence.css",),
        ending=ending_of(migration_ending(migration)),
        diagnostics=migration.diagnostics,
        tables=(table_of("policy", rules, tuple(outcome.value for outcome in _STYLES)),),
        policies=policies,
        styles=_STYLES,
    )
