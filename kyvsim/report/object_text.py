"""Objects as JSON and YAML text, and the lines that differ between two objects."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import Final, TypeAlias

from kyvsim import __version__
from kyvsim.kubernetes.objects import Json
from kyvsim.report.formats import JSON, has_log_command, log_safe
from kyvsim.yaml.document import resolve

_LARGEST_WHOLE = 1e21


def to_json(value: object) -> str:
    """Return `value` as JSON on one line, in ASCII."""
    return json.dumps(whole_numbers(value))


def whole_numbers(value: object) -> Json:
    """Return `value` with every whole float as an int, as Kubernetes prints numbers."""
    if type(value) is dict:
        return {key: whole_numbers(member) for key, member in value.items()}
    if type(value) is list:
        return [whole_numbers(member) for member in value]
    if type(value) is float and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    return value


SCHEMA: Final = 1
"""The version of docs/output.schema.json: a new one if programs that read documents must change."""


def document_origin(command: str) -> dict[str, object]:
    """Return the field `kyvsim` of every JSON document: what wrote it, and in which schema."""
    return {"command": command, "schema": SCHEMA, "version": __version__}


def json_document(command: str, fields: Mapping[str, object]) -> Iterator[str]:
    """Yield the JSON document of a command, with the field `kyvsim` after the given ones.

    Entries of lists and iterators are on lines of their own.
    """
    separator = "{"
    for name, value in (*fields.items(), ("kyvsim", document_origin(command))):
        yield f'{separator}"{name}": '
        if isinstance(value, (list, Iterator)):
            yield "["
            yield from json_entries(map(to_json, value))
            yield "]"
        else:
            yield to_json(value)
        separator = ",\n"
    yield "}\n"


def json_entries(texts: Iterable[str]) -> Iterator[str]:
    """Yield the entries of a JSON list, each on its own line."""
    separator = "\n  "
    for text in texts:
        yield f"{separator}{text}"
        separator = ",\n  "


# Objects as YAML text in Kubernetes' style: sorted keys, two spaces, lists level with their key.
#
# This emitter is about seven times as fast for plain data as libyaml's through PyYAML,
# needs no recursion, and quotes by the typing that the reader (Go's) uses.


# Negated, since a class of many characters takes milliseconds to compile at every start.
_PLAIN = r"(?:[A-Za-z0-9_/.$(+~<=;^\\]|[^\x00-\xa0]|-{1,2}(?=[A-Za-z0-9]))[^\n\t]*"
_LAST_PLAIN = "\ud7ff"
_ENDS_PLAIN = re.compile(r":(?: |$)| #| $")
# Scalars that YAML 1.1 readers parse as base-60 numbers, dates, merge or default keys; Go does not.
_TYPED_ELSEWHERE = r"[-+]?[0-9][0-9_:]*(\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9].*|=|<<"


def to_yaml(obj: object) -> str:
    """Return `obj` as one YAML document with a trailing newline."""
    return "\n".join([*yaml_lines(obj), ""])


def yaml_lines(obj: object, lead: str = "", indent: int = 0) -> list[str]:
    """Return the YAML lines of `obj` after `lead`: nothing, `key:` or `- `.

    `indent` is the column of mapping keys; a list after a key is two columns to the left.
    """
    if not obj or not isinstance(obj, dict | list):
        # Diffs render many single lines.
        text = f"{lead}{' ' if lead.endswith(':') else ''}{leaf(obj, indent)}"
        return text.split("\n")
    lines: list[str] = []
    stack: list[tuple[str, object, int]] = [(lead, obj, indent)]
    while stack:
        lead, value, indent = stack.pop()
        after_key = lead.endswith(":")
        if value and type(value) is dict:
            if after_key:
                lines.append(lead)
            keys = sorted(value)
            pad = " " * indent
            stack += [(f"{pad}{scalar(key)}:", value[key], indent + 2) for key in keys[:0:-1]]
            first = pad if after_key else lead
            stack.append((f"{first}{scalar(keys[0])}:", value[keys[0]], indent + 2))
        elif value and type(value) is list:
            if after_key:
                lines.append(lead)
                indent -= 2
            pad = " " * indent
            stack += [(f"{pad}- ", item, indent + 2) for item in value[:0:-1]]
            stack.append((f"{pad if after_key else lead}- ", value[0], indent + 2))
        else:
            text = f"{lead}{' ' if after_key else ''}{leaf(value, indent)}"
            lines += text.split("\n") if "\n" in text else (text,)
    return lines


@lru_cache(maxsize=1 << 14)
def scalar(text: str) -> str:
    """Return `text` as a YAML scalar on one line, quoted if a reader would misread it."""
    if not text:
        return '""'
    if not text.isprintable() or has_log_command(text):
        return _double_quoted(text)
    if (
        text[0] <= _LAST_PLAIN
        and re.fullmatch(_PLAIN, text)
        and not _ENDS_PLAIN.search(text)
        and not re.fullmatch(_TYPED_ELSEWHERE, text)
        and resolve(text).__class__ is str
    ):
        return text
    if "'" in text or ("\\" not in text and '"' not in text):
        return _double_quoted(text)
    return f"'{text}'"


def leaf(value: object, indent: int) -> str:
    """Return a scalar or empty value as YAML; `indent` is the column of lines in a text block."""
    if isinstance(value, str):
        return _block(value, indent) if "\n" in value else scalar(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < _LARGEST_WHOLE
        return str(int(value)) if whole else repr(value)
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list) else str(value)


def _block(text: str, indent: int) -> str:
    """Return a text of several lines as a literal block, or quoted if that is impossible."""
    if has_log_command(text):
        return _double_quoted(text)
    if text[0] in " \n\t" or not text.replace("\n", "").replace("\t", "").isprintable():
        return _double_quoted(text)
    if text.endswith("\n"):
        keep = "+" if text.endswith("\n\n") else ""
        lines = text[:-1].split("\n")
    else:
        keep = "-"
        lines = text.split("\n")
    pad = "\n" + " " * max(indent, 2)
    return f"|{keep}" + "".join(pad + line if line else "\n" for line in lines)


def _double_quoted(text: str) -> str:
    # JSON's escapes are also valid YAML, so the commands of CI logs become data.
    quoted = log_safe(json.dumps(text, ensure_ascii=False), JSON)
    return re.sub(_UNPRINTABLE, lambda match: f"\\u{ord(match[0]):04x}", quoted)


_BIDI = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_UNPRINTABLE = f"[\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff{_BIDI}]"
_WIDEST = 60
"""Maximum length of a key and value on one line."""


def compact_lines(obj: object) -> list[str]:
    """Return the lines of an object; each map at the top level is on separate lines."""
    return list(_compact_block(whole_numbers(obj), ""))


def _compact_block(value: object, pad: str) -> Iterator[str]:
    if value and isinstance(value, dict):
        for name in sorted(value):
            lead, member = f"{pad}{scalar(name)}:", value[name]
            short = _flow(member)
            is_leaf = not isinstance(member, dict | list)
            if is_leaf and "\n" in str(member):
                yield from yaml_lines(member, lead, len(pad) + 2)
            elif is_leaf or len(lead) + len(short) < _WIDEST:
                yield f"{lead} {short}"
            else:
                yield lead
                yield from _compact_block(member, pad if isinstance(member, list) else f"{pad}  ")
    elif value and isinstance(value, list):
        for member in value:
            short = f"{pad}  {_flow(member)}"
            lines = [short] if len(short) <= _WIDEST else [*_compact_block(member, f"{pad}  ")]
            yield f"{pad}- {lines[0].lstrip()}"
            yield from lines[1:]
    else:
        yield from yaml_lines(value, pad)


def _flow(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(name)}: {_flow(value[name])}' for name in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return _text(value) if isinstance(value, str) else yaml_lines(value)[0]


def _text(text: str) -> str:
    plain = scalar(text)
    return plain if frozenset(",[]{}\n").isdisjoint(text) else log_safe(json.dumps(text), JSON)


Marked: TypeAlias = tuple[str, str]
"""A mark and a line: "+" added, "-" removed, " " in both, "@" a gap (its line is empty)."""


def marked_lines(old: list[str], new: list[str]) -> list[Marked]:
    """Return every line of both texts in order, with its mark."""
    # Skip the common start and end.
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - start
    end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    opcodes: Sequence[tuple[str, int, int, int, int]]
    opcodes = [("replace", 0, len(before), 0, len(after))]
    if before and after and not len(before) == len(after) == 1:
        opcodes = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    lines = [(" ", line) for line in new[:start]]
    for tag, old_from, old_to, new_from, new_to in opcodes:
        if tag == "equal":
            lines += ((" ", line) for line in after[new_from:new_to])
        else:
            lines += (("-", line) for line in before[old_from:old_to])
            lines += (("+", line) for line in after[new_from:new_to])
    return [*lines, *((" ", line) for line in new[len(new) - end :])]


def hunks(lines: list[Marked]) -> Iterator[Marked]:
    """Yield the changed lines with a few lines around each, gaps marked "@"."""
    changed = [index for index, (mark, _) in enumerate(lines) if mark != " "]
    expected = sorted(
        {near for index in changed for near in range(max(0, index - 3), min(len(lines), index + 4))}
    )
    if expected and expected[0]:
        yield "@", ""
    for index, following in pairwise([*expected, len(lines)]):
        yield lines[index]
        if following != index + 1:
            yield "@", ""


# Differences between two objects, shown as the YAML of the later one with marks.
# The data is compared, not the text: list items are identified by their name, and a field that
# comes before the first one of an item does not make the whole item look changed.

_ABSENT: Final = object()
_DEPTH_LIMIT = 200
"""Below this depth, a changed value is shown as a whole."""


def marked_yaml(before: object, after: object) -> list[Marked]:
    """Return the lines of `after` and those that only `before` has, with marks."""
    lines: list[Marked] = []
    _compare(lines, ("", 0, 0), before, after, whole=True)
    return lines


def changed_yaml(before: object, after: object) -> list[Marked]:
    """Return only the lines of `marked_yaml` that differ; faster."""
    lines: list[Marked] = []
    _compare(lines, ("", 0, 0), before, after, whole=False)
    return lines


_Spot: TypeAlias = tuple[str, int, int]
"""The position of a value: the text before it, its members' column, and its depth."""


def _compare(
    lines: list[Marked], spot: _Spot, before: object, after: object, *, whole: bool
) -> None:
    """Add the lines of two values; with `whole`, unchanged lines, too."""
    lead, indent, depth = spot
    is_deep = before and after and depth < _DEPTH_LIMIT
    if before is after:
        lines += _unchanged(lead, indent, after) if whole else ()
    elif is_deep and isinstance(before, dict) and isinstance(after, dict):
        _compare_mappings(lines, spot, before, after, whole=whole)
    elif is_deep and isinstance(before, list) and isinstance(after, list):
        _compare_lists(lines, spot, before, after, whole=whole)
    elif before == after and isinstance(before, bool) == isinstance(after, bool):
        lines += _unchanged(lead, indent, after) if whole else ()
    else:
        marked = marked_lines(yaml_lines(before, lead, indent), yaml_lines(after, lead, indent))
        lines += marked if whole else [line for line in marked if line[0] != " "]


def _unchanged(lead: str, indent: int, value: object) -> list[Marked]:
    if not value or not isinstance(value, dict | list):
        text = f"{lead} {leaf(value, indent)}" if lead.endswith(":") else lead + leaf(value, indent)
        return [(" ", line) for line in text.split("\n")] if "\n" in text else [(" ", text)]
    return [(" ", line) for line in yaml_lines(value, lead, indent)]


def _compare_mappings(
    lines: list[Marked],
    spot: _Spot,
    before: dict[str, object],
    after: dict[str, object],
    *,
    whole: bool,
) -> None:
    lead, indent, depth = spot
    first = pad = " " * indent
    keys = before.keys() | after.keys() if whole else before.keys() - after.keys()
    if not whole:
        keys |= {key for key, new in after.items() if before.get(key, _ABSENT) is not new}
    first_old = first_new = ""
    if not lead.endswith(":"):
        first, first_old, first_new = lead, min(before), min(after)
    elif whole:
        lines.append((" ", lead))
    for key in sorted(keys):
        old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
        start = first if key == (first_new if key in after else first_old) else pad
        inner = f"{start}{scalar(key)}:"
        if old is new:
            lines += _unchanged(inner, indent + 2, new)
        elif new is _ABSENT:
            lines += [("-", line) for line in yaml_lines(old, inner, indent + 2)]
        elif old is _ABSENT:
            lines += [("+", line) for line in yaml_lines(new, inner, indent + 2)]
        else:
            _compare(lines, (inner, indent + 2, depth + 1), old, new, whole=whole)


def _compare_lists(
    lines: list[Marked], spot: _Spot, before: list[object], after: list[object], *, whole: bool
) -> None:
    lead, indent, depth = spot
    after_key = lead.endswith(":")
    column = indent - 2 if after_key else indent
    pad = " " * column
    first = pad if after_key else lead
    if after_key and whole:
        lines.append((" ", lead))
    for old, new in _pairs(before, after):
        start = first if (old if new is None else new) == 0 else pad
        inner = f"{start}- "
        if new is None:
            lines += [("-", line) for line in yaml_lines(before[old or 0], inner, column + 2)]
        elif old is None:
            lines += [("+", line) for line in yaml_lines(after[new], inner, column + 2)]
        else:
            spot = inner, column + 2, depth + 1
            _compare(lines, spot, before[old], after[new], whole=whole)


def _pairs(before: list[object], after: list[object]) -> Iterator[tuple[int | None, int | None]]:
    """Yield the indexes of items that are compared with each other; None if there is no partner."""
    olds, news = [_item_key(item) for item in before], [_item_key(item) for item in after]
    if olds == news[: len(olds)]:
        yield from zip_longest(range(len(olds)), range(len(news)))
        return

    matcher = SequenceMatcher(a=olds, b=news, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        old_places, new_places = range(old_from, old_to), range(new_from, new_to)
        items = (*before[old_from:old_to], *after[new_from:new_to])
        unnamed = not any(map(_name, items))
        if tag == "equal" or (unnamed and len(old_places) == len(new_places)):
            yield from zip(old_places, new_places, strict=True)
        else:
            yield from ((old, None) for old in old_places)
            yield from ((None, new) for new in new_places)


def _item_key(item: object) -> str:
    return _name(item) or "\n".join(yaml_lines(item))


def _name(item: object) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return f"name {name}" if isinstance(name, str) else ""
