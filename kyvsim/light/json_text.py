"""JSON read and written by what `json` stands on, without the module itself.

That compiles six regular expressions for what is done in C nearly always: a millisecond and a half
of a start. It is asked where a text is none, and says why.
"""

from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
from collections.abc import Callable

from kyvsim.light.typed import Any

__all__ = ["encode_basestring", "read_json", "reader", "write_json"]

_BLANKS = " \t\n\r"


def reader(**hooks: Any) -> Callable[[str], Any]:
    """Return what reads a JSON text; it raises json's error (a ValueError) where one is none.

    `hooks` are those of `json.loads`.
    """
    asked: Any = _Hooks()
    asked.__dict__.update(hooks)
    scan = make_scanner(asked)

    def read(text: str) -> Any:
        start = len(text) - len(text.lstrip(_BLANKS)) if text[:1] in _BLANKS else 0
        try:
            found, end = scan(text, start)
        except StopIteration:
            end = start
        else:
            if end == len(text) or not text[end:].strip(_BLANKS):
                return found
        import json  # noqa: PLC0415 — where the text is none: see above

        return json.loads(text, **hooks)

    return read


class _Hooks:
    """What the reader in C asks its decoder for."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


read_json = reader()


def write_json(
    value: object, *, ensure_ascii: bool = True, default: Callable[[Any], Any] | None = None
) -> str:
    """Return the JSON of a value on one line, as `json.dumps` does.

    Raises TypeError for what JSON has no word for, ValueError for what holds itself.
    """
    quoted = encode_basestring_ascii if ensure_ascii else encode_basestring
    write = make_encoder({}, default or _refuse, quoted, None, ": ", ", ", False, False, True)
    return "".join(write(value, 0))


def _refuse(value: object) -> Any:
    import json  # noqa: PLC0415 — for an error

    return json.JSONEncoder().default(value)
