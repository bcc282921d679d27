"""What `test` and `[ … ]` evaluate.

Source of the rules: POSIX, Utilities, test.
"""

import re

from kyvsim.chainsaw.ending import UnsupportedError

_NUMBERS = ("-eq", "-ne", "-gt", "-ge", "-lt", "-le")
_NUMBER = re.compile(r"[ \t\n]*[+-]?[0-9]{1,18}[ \t\n]*")
_MOST_WORDS = 64
"""More words than anybody writes: every `!`, `-a` and `-o` is a level of recursion."""


class ConditionError(Exception):
    """A condition that is wrong; the text says how."""


def holds(words: tuple[str, ...]) -> bool:
    """Return whether a condition holds.

    Raises ConditionError for one that is wrong, and UnsupportedError for what is not understood.
    """
    if len(words) > _MOST_WORDS:
        raise UnsupportedError(f"a condition of more than {_MOST_WORDS} words")
    for joint, all_of in (("-o", False), ("-a", True)):
        if joint in words[1:-1] and len(words) > 3:
            place = words.index(joint, 1)
            sides = (holds(words[:place]), holds(words[place + 1 :]))
            return all(sides) if all_of else any(sides)
    if len(words) == 3 and words[1] == "==":
        raise UnsupportedError("`==` in a condition, which dash refuses and bash reads as `=`")
    if len(words) == 3 and (words[1] in {"=", "!="} or words[1] in _NUMBERS):
        return _two(*words)
    if len(words) > 1 and words[0] == "!":
        return not holds(words[1:])
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2:
        return _one(*words)
    raise _unknown(words)


def _one(operator: str, word: str) -> bool:
    if operator == "-n":
        return bool(word)
    if operator == "-z":
        return not word
    raise _unknown((operator, word))


def _two(first: str, operator: str, second: str) -> bool:
    if operator == "=":
        return first == second
    if operator == "!=":
        return first != second
    one, other = _number(first), _number(second)
    order = (one > other) - (one < other)
    return {
        "-eq": order == 0,
        "-ne": order != 0,
        "-gt": order > 0,
        "-ge": order >= 0,
        "-lt": order < 0,
        "-le": order <= 0,
    }[operator]


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ConditionError(f"Illegal number: {text}")
    return int(text)


def _unknown(words: tuple[str, ...]) -> UnsupportedError:
    return UnsupportedError(f"the condition `[ {' '.join(words)} ]`")
