"""Programs that scripts call; `PROGRAMS` lists them.

For invalid arguments they fail like the programs of GNU coreutils.
"""

import operator
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from kyvsim.chainsaw.environment import (
    STDERR,
    STDOUT,
    Printed,
    ProgramCall,
    Result,
    ShellEnvironment,
    error_output,
    out,
)
from kyvsim.chainsaw.errors import KUBECTL_STEPS, UnsupportedError
from kyvsim.chainsaw.kubectl import kubectl
from kyvsim.chainsaw.kyverno_cli import kyverno
from kyvsim.chainsaw.shell.curl import curl
from kyvsim.chainsaw.shell.jq import jq
from kyvsim.chainsaw.shell.patterns import PatternError, compile_pattern
from kyvsim.chainsaw.shell.tables import awk, sort
from kyvsim.kubernetes.regexes import as_bytes

_ESCAPES = MappingProxyType(
    {"\\": "\\", "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd]?)")
_SECONDS = MappingProxyType({"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400})
_COMPILED = 3
"""The number of steps that compiling a pattern counts as."""
_DIGITS = 19
_LETTERS = re.compile(r"-[a-zA-Z]+")


def _echo(call: ProgramCall) -> Result:
    words = list(call.arguments)
    ends = words[:1] != ["-n"]
    if not ends:
        words.pop(0)
    text = " ".join(words)
    # `echo` treats backslashes and other options differently, depending on the shell.
    if "\\" in text or (words and re.fullmatch("-[neE]+", words[0])):
        raise call.unsupported("echo")
    return out(text + ("\n" if ends else ""))


def _printf(call: ProgramCall) -> Result:
    arguments = call.arguments[1:] if call.arguments[:1] == ("--",) else call.arguments
    if not arguments:
        return error_output("printf: usage: printf format [arguments]\n", 2)
    if arguments[0].startswith("-"):
        raise call.unsupported("printf")
    form = re.sub(r"\\(.?)", partial(_unescaped, call), arguments[0], flags=re.DOTALL)
    values = arguments[1:]
    pieces = re.split("(%.?)", form, flags=re.DOTALL)
    if not set(pieces[1::2]) <= {"%s", "%d", "%%"}:
        raise call.unsupported("printf")
    holes = sum(one != "%%" for one in pieces[1::2])
    texts: list[str] = []
    problems: list[str] = []
    at = 0
    while True:
        call.usage.step(1 + len(pieces) // 8)
        for place, piece in enumerate(pieces):
            filled = piece
            if place % 2:
                value = values[at] if piece != "%%" and at < len(values) else ""
                at += piece != "%%"
                filled = "%" if piece == "%%" else _value(piece, value, problems)
            texts.append(filled)
        call.usage.text(len(form))
        if not holes or at >= len(values):
            break
    printed = (Printed(STDOUT, "".join(texts)), *(Printed(STDERR, one) for one in problems))
    return Result(1 if problems else 0, printed)


def _unescaped(call: ProgramCall, match: re.Match[str]) -> str:
    if match[1] not in _ESCAPES:
        raise call.unsupported("printf")
    return _ESCAPES[match[1]]


def _value(hole: str, value: str, problems: list[str]) -> str:
    if hole == "%s":
        return value
    if not value:
        return "0"
    number = re.match(r"\s*([+-]?[0-9]{1,18})", value)
    if number is None or number.end() != len(value):
        problems.append(f"printf: {value}: expected numeric value\n")
    if number is not None and re.match(r"[+-]?0[0-9xX]", number[1]):
        raise UnsupportedError(f"`printf %d {value}`")
    return str(int(number[1])) if number else "0"


# The conditions of `test` and `[ … ]`.
#
# Source of the rules: POSIX, Utilities, test.

_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {"-eq": operator.eq, "-ne": operator.ne, "-gt": operator.gt}
    | {"-ge": operator.ge, "-lt": operator.lt, "-le": operator.le}
)
_INTEGER = re.compile(r"[ \t\n]*[+-]?[0-9]{1,18}[ \t\n]*")
_MOST_WORDS = 64
"""More words than in real scripts: every `!`, `-a` and `-o` is a level of recursion."""


class TestExpressionError(Exception):
    """An invalid condition; the text is the message."""


def holds(words: tuple[str, ...]) -> bool:
    """Return whether a condition is true.

    Raises TestExpressionError for an invalid one, UnsupportedError for one that is not supported.
    """
    if len(words) > _MOST_WORDS:
        raise UnsupportedError(f"a condition of more than {_MOST_WORDS} words")
    for joint, all_of in (("-o", False), ("-a", True)):
        if joint in words[1:-1] and len(words) > 3:
            place = words.index(joint, 1)
            sides = (holds(words[:place]), holds(words[place + 1 :]))
            return all(sides) if all_of else any(sides)
    if len(words) == 3 and words[1] == "==":
        raise UnsupportedError("`==` in a condition, which dash rejects and bash treats as `=`")
    if len(words) == 3 and words[1] in {"=", "!="}:
        return (words[0] == words[2]) is (words[1] == "=")
    if len(words) == 3 and words[1] in _COMPARISONS:
        return _COMPARISONS[words[1]](_integer(words[0]), _integer(words[2]))
    if len(words) > 1 and words[0] == "!":
        return not holds(words[1:])
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2 and words[0] in {"-n", "-z"}:
        return bool(words[1]) is (words[0] == "-n")
    raise UnsupportedError(f"the condition `[ {' '.join(words)} ]`")


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise TestExpressionError(f"Illegal number: {text}")
    return int(text)


def _condition(name: str, words: tuple[str, ...]) -> Result:
    try:
        return Result(0 if holds(words) else 1)
    except TestExpressionError as error:
        return error_output(f"sh: {name}: {error}\n", 2)


def _bracket(call: ProgramCall) -> Result:
    if not call.arguments or call.arguments[-1] != "]":
        return error_output("sh: [: missing ]\n", 2)
    return _condition("[", call.arguments[:-1])


def _files(
    call: ProgramCall, name: str, names: tuple[str, ...]
) -> tuple[list[str], tuple[Printed, ...]]:
    """Return the contents of files, or of standard input, and the errors for missing ones."""
    texts: list[str] = []
    missing: list[Printed] = []
    for one in names or ("-",):
        text = call.environment.read(one, call.stdin)
        if text is None:
            missing.append(Printed(STDERR, f"{name}: {one}: No such file or directory\n"))
        else:
            texts.append(text)
    return texts, tuple(missing)


def _cat(call: ProgramCall) -> Result:
    if any(one.startswith("-") and one != "-" for one in call.arguments):
        raise call.unsupported("cat")
    texts, missing = _files(call, "cat", call.arguments)
    printed = (*(Printed(STDOUT, text) for text in texts if text), *missing)
    return Result(1 if missing else 0, printed)


def _sleep(call: ProgramCall) -> Result:
    if not call.arguments:
        return error_output("sleep: missing operand\n")
    spans = [_SPAN.fullmatch(one) for one in call.arguments]
    seconds = 0.0
    for span, text in zip(spans, call.arguments, strict=True):
        if span is None:
            return error_output(f"sleep: invalid time interval '{text}'\n")
        seconds += float(span[1]) * _SECONDS[span[2]]
    session = call.environment.session
    left = call.end - session.sim.clock.elapsed
    # After its timeout the script is killed.
    session.wait(seconds if seconds <= left else left + 1)
    return Result()


def _rm(call: ProgramCall) -> Result:
    flags = {letter for one in call.arguments if _LETTERS.fullmatch(one) for letter in one[1:]}
    names = [one for one in call.arguments if not one.startswith("-")]
    if flags - set("rRf") or any(
        not _LETTERS.fullmatch(one) for one in call.arguments if one[:1] == "-"
    ):
        raise call.unsupported("rm")
    if not names:
        return Result() if "f" in flags else error_output("rm: missing operand\n")
    missing = [one for one in names if not call.environment.remove(one)]
    if not missing or "f" in flags:
        return Result()
    lines = (f"rm: cannot remove '{one}': No such file or directory\n" for one in missing)
    return error_output("".join(lines))


def _grep(call: ProgramCall) -> Result:
    flags, words = _grep_arguments(call)
    call.usage.step(_COMPILED)
    if not words:
        return error_output("Usage: grep [OPTION]... PATTERNS [FILE]...\n", 2)
    if len(words) > 2 and not {"q", "c"} & set(flags):
        raise call.unsupported("grep")
    try:
        pattern = compile_pattern(words[0], flags)
    except PatternError as error:
        return error_output(f"grep: {error}\n", 2)
    texts, missing = _files(call, "grep", tuple(words[1:]))
    lines = [line for text in texts for line in call.lines(text)]
    selected = [
        one for one in lines if (pattern.search(as_bytes(one)) is not None) != ("v" in flags)
    ]
    status = 2 if missing and not ("q" in flags and selected) else 0 if selected else 1
    if "q" in flags:
        return Result(status, missing)
    if "c" in flags:
        if len(words) > 2:
            raise call.unsupported("grep")
        counted = (Printed(STDOUT, f"{len(selected)}\n"),) if texts else ()
        return Result(status, (*counted, *missing))
    if "o" in flags:
        lines = [] if "v" in flags else selected
        parts = (part[0] for line in lines for part in pattern.finditer(as_bytes(line)))
        selected = [part.decode("utf-8", "replace") for part in parts if part]
        call.usage.step(len(selected))
    text = "".join(f"{line}\n" for line in selected)
    return Result(status, (*([Printed(STDOUT, text)] if text else ()), *missing))


def _grep_arguments(call: ProgramCall) -> tuple[str, list[str]]:
    flags = ""
    words: list[str] = []
    rest = iter(call.arguments)
    for one in rest:
        if one == "--":
            return flags, [*words, *rest]
        if one.startswith("-") and one != "-":
            flags += one[1:]
        else:
            words.append(one)
    if set(flags) - set("qivFEcwxo") or {"w", "o"} <= set(flags):
        raise call.unsupported("grep")
    return flags, words


def _wc(call: ProgramCall) -> Result:
    flags = [one for one in call.arguments if one.startswith("-") and one != "-"]
    names = tuple(one for one in call.arguments if one not in flags)
    if len(flags) != 1 or flags[0] not in {"-l", "-c", "-w"} or len(names) > 1:
        raise call.unsupported("wc")
    texts, missing = _files(call, "wc", names)
    if missing:
        return Result(1, missing)
    text = texts[0]
    if flags[0] == "-w":
        call.usage.step(len(text) // 16)
        count = len(text.split())
    else:
        count = text.count("\n") if flags[0] == "-l" else len(as_bytes(text))
    return out(" ".join([str(count), *names]) + "\n")


class _ArgumentError(Exception):
    """An invalid argument; the text is the program's message."""


def _line_count(call: ProgramCall, name: str, given: str) -> int:
    if re.fullmatch("[-+][0-9]+", given):
        raise call.unsupported(name)
    if not re.fullmatch("[0-9]+", given):
        raise _ArgumentError(f"{name}: invalid number of lines: '{given}'\n")
    if len(given) > _DIGITS:
        too_large = "Value too large for defined data type"
        raise _ArgumentError(f"{name}: invalid number of lines: '{given}': {too_large}\n")
    return int(given)


def _head_or_tail(name: str, call: ProgramCall) -> Result:
    """Print the first or the last lines of a file [default: 10]."""
    count, names, rest = 10, [], iter(call.arguments)
    try:
        for one in rest:
            if one.startswith("-n"):
                given = one[2:] or next(rest, None)
                if given is None:
                    return error_output(f"{name}: option requires an argument -- 'n'\n")
                count = _line_count(call, name, given)
            elif re.fullmatch("-[0-9]+", one):
                count = _line_count(call, name, one[1:])
            elif one.startswith("-") and one != "-":
                raise call.unsupported(name)
            else:
                names.append(one)
    except _ArgumentError as error:
        return error_output(str(error))
    if name == "tail" and count == 0:
        return Result()  # GNU's tail does not open the file then
    if len(names) > 1:
        raise call.unsupported(name)
    texts, missing = _files(call, name, tuple(names))
    if missing:
        why = "No such file or directory"
        return error_output(f"{name}: cannot open '{names[0]}' for reading: {why}\n")
    call.usage.step(texts[0].count("\n"))
    lines = re.findall(r"[^\n]*\n|[^\n]+", texts[0])
    return out("".join(lines[:count] if name == "head" else lines[-count:]))


def _seq(call: ProgramCall) -> Result:
    if not call.arguments:
        return error_output("seq: missing operand\n")
    for one in call.arguments:
        if _FLOAT.fullmatch(one) is None:
            if one.startswith("-") and not re.match(r"-[0-9.]", one):
                raise call.unsupported("seq")
            return error_output(f"seq: invalid floating point argument: '{one}'\n")
    if len(call.arguments) > 3:
        return error_output(f"seq: extra operand '{call.arguments[3]}'\n")
    if not all(re.fullmatch("[+-]?[0-9]{1,400}", one) for one in call.arguments):
        raise call.unsupported("seq")
    numbers = [int(one) for one in call.arguments]
    first, last = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
    step = numbers[1] if len(numbers) == 3 else 1
    if not step:
        return error_output(f"seq: invalid Zero increment value: '{call.arguments[1]}'\n")
    count = max((last - first) // step + 1, 0)
    call.usage.step(count // 8)
    call.usage.text(count * (1 + max(len(str(first)), len(str(last)))))
    return out("".join(f"{first + place * step}\n" for place in range(count)))


def _tr(call: ProgramCall) -> Result:
    if not call.arguments:
        return error_output("tr: missing operand\n")
    if len(call.arguments) != 2 or call.arguments[0] != "-d":
        raise call.unsupported("tr")
    dropped = call.arguments[1].replace("\\n", "\n").replace("\\r", "\r")
    if re.search(r"\\|\[[:=.]|.-.", dropped):
        raise call.unsupported("tr")
    return out(call.stdin.translate({ord(mark): None for mark in dropped}))


def _mkfifo(call: ProgramCall) -> Result:
    """Create pipes: files here, since commands run one after the other and not at the same time."""
    if not call.arguments or any(one.startswith("-") for one in call.arguments):
        raise call.unsupported("mkfifo")
    for name in call.arguments:
        if call.environment.is_there(name):
            return error_output(f"mkfifo: cannot create fifo '{name}': File exists\n")
        call.environment.write(name, "", append=False)
    return Result()


def _client(
    run: Callable[[tuple[str, ...], str, ShellEnvironment], Result], call: ProgramCall
) -> Result:
    """Run a program that uses the cluster."""
    call.usage.step(KUBECTL_STEPS)
    return run(call.arguments, call.stdin, call.environment)


PROGRAMS: Mapping[str, Callable[[ProgramCall], Result]] = {
    "true": lambda _call: Result(),
    ":": lambda _call: Result(),
    "false": lambda _call: Result(1),
    "echo": _echo,
    "printf": _printf,
    "test": lambda call: _condition("test", call.arguments),
    "[": _bracket,
    "cat": _cat,
    "sleep": _sleep,
    "rm": _rm,
    "grep": _grep,
    "wc": _wc,
    "head": lambda call: _head_or_tail("head", call),
    "tail": lambda call: _head_or_tail("tail", call),
    "seq": _seq,
    "tr": _tr,
    "mkfifo": _mkfifo,
    "awk": awk,
    "sort": sort,
    "jq": jq,
    "curl": curl,
    "kubectl": partial(_client, kubectl),
    "kyverno": partial(_client, kyverno),
}
