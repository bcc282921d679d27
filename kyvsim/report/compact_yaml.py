"""Objects as YAML that is read at a glance: what is small stands on one line."""

import json
from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.report.json_text import whole_numbers
from kyvsim.report.log_commands import JSON, log_safe
from kyvsim.report.object_yaml import scalar, yaml_lines

_WIDEST = 60
"""What stands on one line, with its key, is no longer."""
_SPECIAL = frozenset(",[]{}")


def compact_lines(obj: Json) -> list[str]:
    """Return the lines of an object; each map at its top has lines of its own."""
    return list(_block(whole_numbers(obj), ""))


def _block(value: Json, pad: str) -> Iterator[str]:
    if value and value.__class__ is dict:
        for name in sorted(value):
            yield from _member(f"{pad}{scalar(name)}:", value[name], f"{pad}  ")
    elif value and value.__class__ is list:
        for one in value:
            first, *others = _inner(one, f"{pad}  ")
            yield f"{pad}- {first.lstrip()}"
            yield from others
    else:
        yield from yaml_lines(value, pad)


def _inner(value: Json, pad: str) -> list[str]:
    short = _flow(value)
    if len(pad) + len(short) <= _WIDEST:
        return [f"{pad}{short}"]
    return list(_block(value, pad))


def _member(lead: str, value: Json, pad: str) -> Iterator[str]:
    short = _flow(value)
    is_leaf = value.__class__ not in {dict, list}
    if is_leaf and "\n" in str(value):
        yield from yaml_lines(value, lead, len(pad))
    elif is_leaf or len(lead) + len(short) < _WIDEST:
        yield f"{lead} {short}"
    else:
        yield lead
        yield from _block(value, pad[:-2] if value.__class__ is list else pad)


def _flow(value: Json) -> str:
    """Return a value on one line."""
    if value.__class__ is dict:
        return f"{{{', '.join(f'{_text(name)}: {_flow(value[name])}' for name in sorted(value))}}}"
    if value.__class__ is list:
        return f"[{', '.join(map(_flow, value))}]"
    return _text(value) if value.__class__ is str else yaml_lines(value)[0]


def _text(text: str) -> str:
    found = scalar(text)
    if _SPECIAL.isdisjoint(text) and "\n" not in text:
        return found
    return log_safe(json.dumps(text), JSON)
