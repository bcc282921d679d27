"""The parts of the text view that show objects: mutated ones with marks, generated ones whole."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.model.result import EngineResponse, PolicyResponse
from kyvsim.report.changes import (
    Change,
    generated,
    mutations,
    passed_rules,
    patched_targets,
)
from kyvsim.report.diff import Marked, hunks
from kyvsim.report.look import Look
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.object_yaml import yaml_lines
from kyvsim.report.style import MARK_LOOKS, Paint, safe_line, safe_text
from kyvsim.report.subject import short_title

_GUTTER = MappingProxyType({" ": "      ", "+": "    + ", "-": "    - ", "@": "      ..."})


def object_blocks(response: EngineResponse, paint: Paint, look: Look) -> tuple[str, list[str]]:
    """Return the text of the mutated object ("" if none) and the texts of all other objects."""
    mutated = mutations(response)
    text = _mutated(response.trigger, mutated, paint, look) if mutated else ""
    others = [_patched(change, paint, look) for change in patched_targets(response)]
    others += [_generated(change, paint, look) for change in generated(response)]
    return text, others


def _mutated(trigger: Json, answers: list[PolicyResponse], paint: Paint, look: Look) -> str:
    """Return the object as all policies left it, or with `look.diff` what each of them changed."""
    if not look.diff or not look.objects:
        head = _head("mutated", "; ".join(map(author_of, answers)), paint)
        return head + _comparison(trigger, answers[-1].object, paint, look)
    texts = []
    before = trigger
    for answer in answers:
        texts.append(_head("mutated", author_of(answer), paint))
        texts.append(_comparison(before, answer.object, paint, look))
        before = answer.object
    return "".join(texts)


def author_of(answer: PolicyResponse) -> str:
    """Return the policy and those of its rules that passed."""
    rules = [name for name in passed_rules(answer) if name]
    named = f", rule{'s' * (len(rules) != 1)} {', '.join(rules)}" if rules else ""
    return f"policy {answer.policy.key}{named}"


def _patched(change: Change, paint: Paint, look: Look) -> str:
    head = _head(f"patched {short_title(change.object)}", change.author, paint)
    before = change.object if change.before is None else change.before
    return f"{head}{_comparison(before, change.object, paint, look)}\n"


def _generated(change: Change, paint: Paint, look: Look) -> str:
    head = _head(f"generated {short_title(change.object)}", change.author, paint)
    if not look.objects:
        return f"{head}\n"
    lines = ((" ", line) for line in yaml_lines(change.object))
    return f"{head}{''.join(guttered(lines, paint))}\n"


def _head(what: str, author: str, paint: Paint) -> str:
    return f"  {paint('pass', safe_line(what))} by {safe_line(author)}\n"


def _comparison(before: Json, after: Json, paint: Paint, look: Look) -> str:
    if not look.objects:
        return ""
    lines = marked_yaml(before, after)
    return "".join(guttered(hunks(lines) if look.diff else lines, paint))


def guttered(lines: Iterable[Marked], paint: Paint) -> Iterator[str]:
    """Yield marked lines as text, each with its mark in the margin."""
    for mark, line in lines:
        text = f"{_GUTTER[mark]}{line if line.isprintable() else safe_text(line)}"
        yield f"{text if mark == ' ' else paint(MARK_LOOKS[mark], text)}\n"
