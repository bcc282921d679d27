"""Policies as YAML that people go on with: keys in their order, long texts as blocks, comments."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kyvsim.kubernetes.objects import Json
from kyvsim.report.log_commands import has_log_command
from kyvsim.report.object_text import scalar, yaml_lines

_WIDTH = 100
_WORD = re.compile(r"(?:(?<!\w)'[^']*'|[^ ])+")
"""What a line is not broken in: what stands in quotes, as texts of expressions do."""
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
    """Yield a text: on the line of its key, folded where it is long, or as it stands."""
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
