"""Programs that scripts call; `PROGRAMS` lists them."""

import re
from collections.abc import Callable

from kyvsim.chainsaw.durations import seconds_of
from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl import kubectl
from kyvsim.chainsaw.shell.conditions import holds
from kyvsim.chainsaw.streams import Result, complaint, out
from kyvsim.chainsaw.surroundings import Surroundings
from kyvsim.light.named_tuple import NamedTuple


class Call(NamedTuple):
    """One call of a program."""

    arguments: tuple[str, ...]
    stdin: str
    surroundings: Surroundings


class Program(NamedTuple):
    """A program that is understood here."""

    name: str
    run: Callable[[Call], Result]


def _true(call: Call) -> Result:
    del call
    return Result()


def _false(call: Call) -> Result:
    del call
    return Result(1)


def _echo(call: Call) -> Result:
    words = list(call.arguments)
    ends = words[:1] != ["-n"]
    if not ends:
        words.pop(0)
    text = " ".join(words)
    # Shells read backslashes and further options of `echo` in different ways.
    if "\\" in text or (words and re.fullmatch("-[neE]+", words[0])):
        raise UnsupportedError(f"`echo {text}`")
    return out(text + ("\n" if ends else ""))


def _printf(call: Call) -> Result:
    if not call.arguments:
        return complaint("printf: usage: printf format [arguments]\n", 2)
    pattern, values = call.arguments[0], list(call.arguments[1:])
    pattern = pattern.replace("\\n", "\n").replace("\\t", "\t")
    holes = re.findall("%.", pattern)
    if set(holes) - {"%s", "%d", "%%"}:
        raise UnsupportedError(f"`printf {call.arguments[0]}`")
    found = _filled(pattern, values)
    while values and set(holes) - {"%%"}:
        found += _filled(pattern, values)
    return out(found)


def _filled(pattern: str, values: list[str]) -> str:
    """Return a format with its holes filled, and take what fills them from the values."""

    def value(hole: re.Match[str]) -> str:
        if hole[0] == "%%":
            return "%"
        return values.pop(0) if values else ""

    return re.sub("%[sd%]", value, pattern)


def _test(call: Call) -> Result:
    return Result(0 if holds(call.arguments) else 1)


def _bracket(call: Call) -> Result:
    if not call.arguments or call.arguments[-1] != "]":
        return complaint("[: missing `]'\n", 2)
    return Result(0 if holds(call.arguments[:-1]) else 1)


def _cat(call: Call) -> Result:
    texts: list[str] = []
    for name in call.arguments or ("-",):
        if name.startswith("-") and name != "-":
            raise UnsupportedError(f"`cat {name}`")
        found = call.surroundings.read(name, call.stdin)
        if found is None:
            return complaint(f"cat: {name}: No such file or directory\n")
        texts.append(found)
    return out("".join(texts))


def _sleep(call: Call) -> Result:
    for text in call.arguments:
        call.surroundings.situation.session.wait(
            seconds_of(f"{text}s" if text[-1:].isdigit() else text)
        )
    return Result()


def _rm(call: Call) -> Result:
    for name in call.arguments:
        call.surroundings.situation.session.written.pop(name, None)
    return Result()


def _grep(call: Call) -> Result:
    flags = "".join(one[1:] for one in call.arguments if re.fullmatch("-[a-zA-Z]+", one))
    words = [one for one in call.arguments if not re.fullmatch("-[a-zA-Z]+|--", one)]
    if set(flags) - set("qivFEcnwxo") or not words or any(w.startswith("--") for w in words):
        raise UnsupportedError(f"`grep {' '.join(call.arguments)}`")
    text = _inputs(call, words[1:])
    if text is None:
        return complaint(f"grep: {words[1]}: No such file or directory\n", 2)
    pattern = _grep_pattern(words[0], flags)
    lines = text.split("\n")[: -1 if text.endswith("\n") or not text else None]
    found = [line for line in lines if bool(pattern.search(line)) != ("v" in flags)]
    status = 0 if found else 1
    if "q" in flags:
        return Result(status)
    if "c" in flags:
        return out(f"{len(found)}\n", status)
    if "n" in flags or len(words) > 2:
        raise UnsupportedError(f"`grep {' '.join(call.arguments)}`")
    if "o" in flags:
        found = [one[0] for line in found for one in pattern.finditer(line) if one[0]]
    return out("".join(f"{line}\n" for line in found), status)


def _grep_pattern(text: str, flags: str) -> re.Pattern[str]:
    r"""Return a pattern of grep's as a pattern of Python's.

    A line of the pattern is an alternative. Basic expressions have `\|`, `\(` where extended ones
    have `|`, `(`.
    """
    if "F" in flags:
        wanted = re.escape(text)
    elif "E" in flags:
        wanted = text
    else:
        wanted = re.sub(r"\\?[|(){}+?]", _swapped, text)
    wanted = "|".join(f"(?:{line})" for line in wanted.split("\n") if line)
    wanted = rf"\b(?:{wanted})\b" if "w" in flags else wanted
    wanted = f"^(?:{wanted})$" if "x" in flags else wanted
    try:
        return re.compile(wanted, re.IGNORECASE if "i" in flags else 0)
    except re.error:
        raise UnsupportedError(f"the pattern `{text}` of grep") from None


def _swapped(found: re.Match[str]) -> str:
    return found[0][1:] if found[0].startswith("\\") else f"\\{found[0]}"


def _inputs(call: Call, names: list[str]) -> str | None:
    """Return the texts of files together, standard input without any; None if one is missing."""
    texts = [call.surroundings.read(name, call.stdin) for name in names or ["-"]]
    return None if None in texts else "".join(one or "" for one in texts)


def _wc(call: Call) -> Result:
    flags = [one for one in call.arguments if one.startswith("-")]
    text = _inputs(call, [one for one in call.arguments if not one.startswith("-")])
    if text is None or len(flags) != 1 or flags[0] not in {"-l", "-c", "-w"}:
        raise UnsupportedError(f"`wc {' '.join(call.arguments)}`")
    counts = {"-l": text.count("\n"), "-w": len(text.split()), "-c": len(text.encode())}
    names = [one for one in call.arguments if not one.startswith("-")]
    if len(names) > 1:
        raise UnsupportedError(f"`wc {' '.join(call.arguments)}`")
    return out(" ".join([str(counts[flags[0]]), *names]) + "\n")


def _head(call: Call) -> Result:
    found = re.fullmatch(r"-(?:n ?)?(\d+)", " ".join(call.arguments) or "-10")
    if found is None:
        raise UnsupportedError(f"`head {' '.join(call.arguments)}`")
    return out("".join(call.stdin.splitlines(keepends=True)[: int(found[1])]))


def _tail(call: Call) -> Result:
    found = re.fullmatch(r"-(?:n ?)?(\d+)", " ".join(call.arguments) or "-10")
    if found is None:
        raise UnsupportedError(f"`tail {' '.join(call.arguments)}`")
    count = int(found[1])
    return out("".join(call.stdin.splitlines(keepends=True)[-count:] if count else []))


def _seq(call: Call) -> Result:
    numbers = [int(one) for one in call.arguments]
    first, last = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
    step = numbers[1] if len(numbers) == 3 else 1
    return out("".join(f"{one}\n" for one in range(first, last + 1, step)))


def _tr(call: Call) -> Result:
    if len(call.arguments) != 2 or call.arguments[0] != "-d":
        raise UnsupportedError(f"`tr {' '.join(call.arguments)}`")
    dropped = call.arguments[1].replace("\\n", "\n").replace("\\r", "\r")
    if re.search(r"\\|\[:|.-.", dropped):
        raise UnsupportedError(f"`tr {' '.join(call.arguments)}`")
    return out(call.stdin.translate({ord(mark): None for mark in dropped}))


def _kubectl(call: Call) -> Result:
    return kubectl(call.arguments, call.stdin, call.surroundings)


PROGRAMS: tuple[Program, ...] = (
    Program("true", _true),
    Program(":", _true),
    Program("false", _false),
    Program("echo", _echo),
    Program("printf", _printf),
    Program("test", _test),
    Program("[", _bracket),
    Program("cat", _cat),
    Program("sleep", _sleep),
    Program("rm", _rm),
    Program("grep", _grep),
    Program("wc", _wc),
    Program("head", _head),
    Program("tail", _tail),
    Program("seq", _seq),
    Program("tr", _tr),
    Program("kubectl", _kubectl),
)
"""Every program that scripts may call."""
