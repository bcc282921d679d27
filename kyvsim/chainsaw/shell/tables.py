"""The programs `awk` and `sort`, for tables such as those of kubectl.

Of awk: rules with a comparison of a field, `NR` or `NF`, and `print` of fields and texts.
Source of the rules: POSIX, Utilities, awk and sort.
"""

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.chainsaw.environment import ProgramCall, Result, error_output, out

_OPERAND = r"\$[0-9]{1,4}|NR|NF|-?[0-9]{1,9}(?:\.[0-9]{1,9})?|\"[^\"\\]*\""
_RULE = re.compile(
    rf"\s*(?:(?P<left>{_OPERAND})\s*(?P<sign>[=!<>]=|[<>])\s*(?P<right>{_OPERAND}))?\s*"
    rf"(?P<action>\{{\s*print(?P<printed>(?:\s+(?:{_OPERAND}))?(?:\s*,?\s*(?:{_OPERAND}))*)\s*;?\s*\}})?\s*"
)
_PRINTED = re.compile(rf"\s*(,?)\s*({_OPERAND})")
_SIGNS: Mapping[str, Callable[..., bool]] = MappingProxyType(
    {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
    | {">": operator.gt, ">=": operator.ge}
)
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)\s*")
_LEADING = re.compile(r"\s*-?[0-9]*\.?[0-9]*")


def awk(call: ProgramCall) -> Result:
    """Run `awk [-F SEPARATOR] 'CONDITION {print FIELDS}' [FILE]`."""
    words = list(call.arguments)
    separator = None
    if words and words[0].startswith("-F"):
        separator = words.pop(0)[2:] or (words.pop(0) if words else "")
    rule = _RULE.fullmatch(words[0]) if words else None
    plain = separator is None or (len(separator) == 1 and separator not in "\\ ")
    if rule is None or not (rule["sign"] or rule["action"]) or len(words) > 2 or not plain:
        raise call.unsupported("awk")
    text = call.environment.read(words[1]) if len(words) == 2 else call.stdin
    if text is None:
        return error_output(f"awk: cannot open {words[1]} (No such file or directory)\n", 2)
    pieces = _PRINTED.findall(rule["printed"] or "")
    call.usage.step(1 + len(text) // 16)
    printed: list[str] = []
    for number, line in enumerate(call.lines(text), 1):
        fields = line.split(separator) if separator else line.split()

        def value(
            word: str, number: int = number, line: str = line, fields: list[str] = fields
        ) -> str:
            if word in {"NR", "NF"}:
                return str(number if word == "NR" else len(fields))
            if word.startswith("$"):
                place = int(word[1:])
                return line if not place else fields[place - 1] if place <= len(fields) else ""
            return word.strip('"')

        if rule["sign"] and not _compared(rule["sign"], rule["left"], rule["right"], value):
            continue
        shown = "".join((" " if comma else "") + value(word) for comma, word in pieces)
        call.usage.text(len(shown) + len(line))
        printed.append(shown if pieces else line)
    return out("".join(f"{one}\n" for one in printed))


def _compared(sign: str, left: str, right: str, value: Callable[[str], str]) -> bool:
    """Compare as numbers if both sides look like numbers, and else as texts."""
    sides = [(value(word), word.startswith('"')) for word in (left, right)]
    if all(not quoted and _NUMBER.fullmatch(text) for text, quoted in sides):
        return _SIGNS[sign](float(sides[0][0]), float(sides[1][0]))
    return _SIGNS[sign](sides[0][0], sides[1][0])


_LONG = MappingProxyType(
    {"--key": "-k", "--numeric": "-n", "--numeric-sort": "-n", "--reverse": "-r"}
    | {"--unique": "-u"}
)


def sort(call: ProgramCall) -> Result:
    """Run `sort [-nru] [-k FIELD] [FILE]`; texts are sorted as in the C locale."""
    flags, key, name = _sort_arguments(call)
    text = call.environment.read(name, call.stdin)
    if text is None:
        return error_output(f"sort: cannot read: {name}: No such file or directory\n", 2)
    lines = call.lines(text)
    call.usage.step(1 + len(lines) * len(lines).bit_length() + len(text) // 16)

    def value(line: str) -> tuple[object, str]:
        # A key reaches from its field to the end of the line; equal keys are sorted by the line.
        part = " ".join(line.split()[key - 1 :]) if key else line
        if "n" not in flags:
            return part, line
        digits = _LEADING.match(part)
        number = digits[0].strip() if digits else ""
        return (float(number) if _NUMBER.fullmatch(number) else 0.0), line

    ordered = sorted(set(lines) if "u" in flags else lines, key=value, reverse="r" in flags)
    return out("".join(f"{line}\n" for line in ordered))


def _sort_arguments(call: ProgramCall) -> tuple[str, int, str]:
    """Return the flags, the field of the key or 0, and the file."""
    flags, key, names = "", 0, []
    rest = iter(call.arguments)
    for one in rest:
        long, _, given = one.partition("=")
        flag = _LONG.get(long, one)
        if flag.startswith("-k"):
            text = flag[2:] or given or next(rest, "")
            key = int(text) if re.fullmatch("[1-9][0-9]{0,3}", text) else -1
        elif re.fullmatch("-[nru]+", flag):
            flags += flag[1:]
        else:
            names.append(one)
    odd = any(one.startswith("-") and one != "-" for one in names)
    if odd or len(names) > 1 or key < 0 or (key and "u" in flags):
        raise call.unsupported("sort")
    return flags, key, names[0] if names else "-"
