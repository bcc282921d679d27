"""Effects as golden files: their text, comparison, writing."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from kyvsim.report.object_text import Marked, hunks, marked_lines, yaml_lines
from kyvsim.report.results import title
from kyvsim.testing.effects import Effect

_HEAD = "# What policies do to manifests. Written by: pytest --update-golden"
_BREAK = "---"
_GUTTER = "    "


def golden_text(effects: Iterable[Effect]) -> str:
    """Return what a golden file says of effects: YAML, one document for each resource.

    A message is left out where a rule passed. The same effects give the same bytes.
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
    """Return where two texts differ, resource by resource; "" where they do not.

    Lines that only the golden file has are marked `-`, those that are new `+`.
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
    return f"{_GUTTER}..." if mark == "@" else f"{_GUTTER}{mark} {text}".rstrip()


def _documents(text: str) -> dict[str, list[str]]:
    """Return the lines of each document by its first line; a second one of a name is numbered."""
    found: dict[str, list[str]] = {}
    document: list[str] = []
    for line in [*text.splitlines(), _BREAK]:
        if line != _BREAK:
            document.append(line)
            continue
        if document:
            found[_name(document[0], found)] = document
        document = []
    return found


def _name(first: str, taken: dict[str, list[str]]) -> str:
    name = first.removeprefix("resource: ")
    count = sum(one == name or one.startswith(f"{name} #") for one in taken)
    return f"{name} #{count + 1}" if count else name


# Golden files: effects compared with a file, or written to it.


def golden_difference(effects: Iterable[Effect], path: str | Path) -> str:
    """Return how effects differ from what a golden file says; "" where they do not.

    A file that is not there says nothing: all of the effects is new.
    """
    file = Path(path)
    golden = file.read_text(encoding="utf-8") if file.exists() else ""
    return text_difference(golden, golden_text(effects))


def write_golden(effects: Iterable[Effect], path: str | Path) -> None:
    """Make a golden file say what the effects are; folders that are missing are made."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(golden_text(effects), encoding="utf-8", newline="\n")
