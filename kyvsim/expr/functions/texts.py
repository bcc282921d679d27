"""Functions on texts: case, cutting, replacing, comparing.

upstream: pkg/engine/jmespath/functions.go; texts are Go strings, mapped character by character.
"""

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import (
    BOOLEAN,
    NUMBER,
    STRING,
    STRINGS,
    Example,
    Function,
)
from kyvsim.kube.go_text import clean_path
from kyvsim.kube.numbers import to_int64
from kyvsim.model.budget import SHORT
from kyvsim.model.ports import System


def lower(text: str) -> str:
    """Return `text` in lower case, each character on its own as Go does."""
    return text.lower() if text.isascii() else "".join(char.lower()[0] for char in text)


def upper(text: str) -> str:
    """Return `text` in upper case; a character whose upper case is several stays as it is."""
    return text.upper() if text.isascii() else "".join(map(_upper_char, text))


def _upper_char(char: str) -> str:
    for shown in (char.upper(), char.title()):
        if len(shown) == 1:
            return shown
    return char


def compare(left: str, right: str) -> int:
    """Return -1, 0 or 1 by the order of code points; an int, as upstream returns no float."""
    return (left > right) - (left < right)


def equal_fold(left: str, right: str) -> bool:
    """Tell whether two texts differ in case only."""
    if len(left) != len(right):
        return False
    return left == right or all(
        one == other or _fold(one) == _fold(other) for one, other in zip(left, right, strict=True)
    )


def _fold(char: str) -> str:
    """Return what is the same for a character's cases; Go folds one character to one."""
    folded = char.casefold()
    return folded if len(folded) == 1 else char.lower()


def replace(system: System, text: str, old: str, new: str, count: float) -> str:
    """Return `text` with the first `count` places of `old` replaced, all where it is negative."""
    _count(system, text, old, new)
    return text.replace(old, new, max(to_int64(count), -1))


def replace_all(system: System, text: str, old: str, new: str) -> str:
    """Return `text` with every `old` replaced."""
    _count(system, text, old, new)
    return text.replace(old, new)


def _count(system: System, text: str, old: str, new: str) -> None:
    """Count what a replacement adds to a text, at most."""
    added = (len(new) - len(old)) * text.count(old)
    if added > SHORT:
        system.meter.spend_text(added)


def trim(text: str, characters: str) -> str:
    """Return `text` without those characters at its ends."""
    return text.strip(characters)


def trim_prefix(text: str, prefix: str) -> str:
    """Return `text` without `prefix` in front."""
    return text.removeprefix(prefix)


def split(text: str, separator: str) -> list[str]:
    """Return the parts between separators; the characters where the separator is empty."""
    return text.split(separator) if separator else list(text)


def truncate(text: str, length: float) -> str:
    """Return the first `length` characters, none where it is below 1."""
    return text[: max(to_int64(length), 0)]


def to_boolean(text: str) -> bool:
    """Return the boolean that `text` names in any case."""
    word = lower(text)
    if word not in ("true", "false"):
        problem = f"lowercase argument must be 'true' or 'false' (provided: '{text}')"
        raise QueryError(f"JMESPath function 'to_boolean': {problem}")
    return word == "true"


def path_canonicalize(path: str) -> str:
    """Return the shortest path that means the same, "" for ""; the file system is not asked."""
    return clean_path(path)


FUNCTIONS = (
    Function(
        "compare",
        (STRING, STRING),
        NUMBER,
        "-1, 0 or 1 by alphabetical order; the result is no float, so `==` with a number is false",
        compare,
        examples=(Example("compare('a', 'b')", -1), Example("compare('a', 'a')", 0)),
    ),
    Function(
        "equal_fold",
        (STRING, STRING),
        BOOLEAN,
        "whether two texts are the same but for upper and lower case",
        equal_fold,
        examples=(Example("equal_fold('Go', 'GO')", output=True),),
    ),
    Function(
        "replace",
        (STRING, STRING, STRING, NUMBER),
        STRING,
        "puts the third text in place of the second, so many times (negative: always)",
        replace,
        needs_system=True,
        examples=(Example("replace('a.b.c', '.', '-', `1`)", "a-b.c"),),
    ),
    Function(
        "replace_all",
        (STRING, STRING, STRING),
        STRING,
        "puts the third text in every place of the second",
        replace_all,
        needs_system=True,
        examples=(Example("replace_all('a.b.c', '.', '-')", "a-b-c"),),
    ),
    Function(
        "to_upper",
        (STRING,),
        STRING,
        "the text in upper case",
        upper,
        examples=(Example("to_upper('abc')", "ABC"),),
    ),
    Function(
        "to_lower",
        (STRING,),
        STRING,
        "the text in lower case",
        lower,
        examples=(Example("to_lower('ABC')", "abc"),),
    ),
    Function(
        "trim",
        (STRING, STRING),
        STRING,
        "the text without any of the second text's characters at both ends",
        trim,
        examples=(Example("trim('--ab-', '-')", "ab"),),
    ),
    Function(
        "trim_prefix",
        (STRING, STRING),
        STRING,
        "the text without the second text in front",
        trim_prefix,
        examples=(Example("trim_prefix('v1.2', 'v')", "1.2"),),
    ),
    Function(
        "split",
        (STRING, STRING),
        STRINGS,
        "the parts of a text between separators",
        split,
        examples=(Example("split('a,b', ',')", ["a", "b"]),),
    ),
    Function(
        "truncate",
        (STRING, NUMBER),
        STRING,
        "the first characters of a text; the length is a number in backticks",
        truncate,
        examples=(Example("truncate('abcdef', `3`)", "abc"),),
    ),
    Function(
        "to_boolean",
        (STRING,),
        BOOLEAN,
        "true or false from its name in any case; other texts are an error",
        to_boolean,
        examples=(Example("to_boolean('True')", output=True),),
    ),
    Function(
        "path_canonicalize",
        (STRING,),
        STRING,
        "the shortest form of a path: no double slashes, no `.`, `..` resolved",
        path_canonicalize,
        examples=(Example("path_canonicalize('/a//b/../c/')", "/a/c"),),
    ),
)
