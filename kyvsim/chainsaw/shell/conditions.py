"""What `test` and `[ … ]` ask.

Source of the rules: POSIX, Utilities, test.
"""

from kyvsim.chainsaw.ending import UnsupportedError

_NUMBERS = ("-eq", "-ne", "-gt", "-ge", "-lt", "-le")


def holds(words: tuple[str, ...]) -> bool:
    """Return whether a condition holds; raise UnsupportedError for one that is not understood."""
    for joint, all_of in (("-o", False), ("-a", True)):
        if joint in words[1:-1] and len(words) > 3:
            place = words.index(joint, 1)
            sides = (holds(words[:place]), holds(words[place + 1 :]))
            return all(sides) if all_of else any(sides)
    if words and words[0] == "!":
        return not holds(words[1:])
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2:
        return _one(*words)
    if len(words) == 3:
        return _two(*words)
    raise _unknown(words)


def _one(operator: str, word: str) -> bool:
    if operator == "-n":
        return bool(word)
    if operator == "-z":
        return not word
    raise _unknown((operator, word))


def _two(first: str, operator: str, second: str) -> bool:
    if operator in {"=", "=="}:
        return first == second
    if operator == "!=":
        return first != second
    if operator not in _NUMBERS:
        raise _unknown((first, operator, second))
    try:
        one, other = int(first), int(second)
    except ValueError:
        return False
    order = (one > other) - (one < other)
    return {
        "-eq": order == 0,
        "-ne": order != 0,
        "-gt": order > 0,
        "-ge": order >= 0,
        "-lt": order < 0,
        "-le": order <= 0,
    }[operator]


def _unknown(words: tuple[str, ...]) -> UnsupportedError:
    return UnsupportedError(f"the condition `[ {' '.join(words)} ]`")
