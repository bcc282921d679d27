"""An interpreter for shell scripts."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.chainsaw.environment import (
    STDERR,
    STDOUT,
    Printed,
    ProgramCall,
    Result,
    ShellEnvironment,
    require_known,
)
from kyvsim.chainsaw.errors import KUBECTL_STEPS, UnsupportedError, require_depth
from kyvsim.chainsaw.shell import parser as syntax
from kyvsim.chainsaw.shell.expansion import arithmetic, edited
from kyvsim.chainsaw.shell.programs import PROGRAMS

# The interpreter: it runs a syntax tree on the simulated cluster.
#
# Source of the rules: POSIX, Shell Command Language, 2.6 to 2.9.

_BLANK = re.compile(r"[ \t\n]+")
_GLOB = re.compile(r"[*?]|\[.*\]", re.DOTALL)
_BRACES = re.compile(r"\{([^{}\s]*)\}")
_SEVERAL = re.compile(r",|\w\.\.-?\w")
_MOST_TEXT = 1 << 18
_SHELL_LINE = re.compile(r"#!\s*(?:\S*/)?(?:env\s+)?(?:sh|bash|dash|ash)(?:\s+(-[eux]+))?\s*")
_FLAGS = MappingProxyType({"e": "errexit", "u": "nounset", "x": "xtrace"})
_LONGEST_PATTERN = 1_000
_STREAMS = MappingProxyType({"/dev/stdout": STDOUT, "/dev/stderr": STDERR})
_PROXY = re.compile(r"kubectl proxy(?: (?:--port[= ]|-p ?)([0-9]{1,5}))?")
_PROXY_PORT = "8001"
_PROXY_PROCESS = "4711"
"""The process of `kubectl proxy`, the only one in the background."""


class ExitError(Exception):
    """A script ended before its last command."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(str(status))
        self.status = status
        self.message = message
        """The message on standard error."""


class LeftLoopError(Exception):
    """`break` or `continue`."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__()
        self.levels = levels
        """How many loops are left, including the innermost."""
        self.again = again


class ReturnError(Exception):
    """`return` in a function."""


class KilledError(Exception):
    """The script exceeded its timeout."""


class RedirectError(Exception):
    """A redirection failed; the text is the shell's message."""


class Shell:
    """A running shell: its variables, options and output."""

    def __init__(
        self, environment: ShellEnvironment, variables: Mapping[str, str], end: float = float("inf")
    ) -> None:
        self.environment = environment
        self.usage = environment.usage
        self.variables = dict(variables)
        self.exported = set(variables)
        self.arguments: tuple[str, ...] = ()
        self.printed: list[Printed] = []
        self.status = 0
        self.options: set[str] = set()
        """`errexit`, `pipefail`, `nounset`."""
        self.loops = 0
        """How many loops are being run."""
        self.functions: dict[str, syntax.Command] = {}
        self.calls = 0
        """How many functions are being run."""
        self.trap = ""
        """The commands to run at the end."""
        self._end = end
        """The virtual time at which the script is killed, in seconds."""
        self._tested = 0
        """How many conditions are being evaluated around the current command."""
        self._depth = 0

    def run(self, script: syntax.Script, stdin: str = "") -> Result:
        """Run a script; return its result.

        Raises KilledError on timeout; `printed` has the output until then.
        """
        self._run(script, stdin)
        if self.trap:
            status, action, self.trap = self.status, parsed(self.trap), ""
            self.status = self._run(action, stdin) or status
        return Result(self.status, tuple(self.printed))

    def _run(self, script: syntax.Script, stdin: str) -> int | None:
        """Run a script to its end; return the status with which `exit` ended it, if it did."""
        try:
            self._script(script, stdin)
        except ExitError as ending:
            self.status = ending.status
            self._print(STDERR, ending.message)
            return self.status
        except ReturnError:
            # In a subshell of a function.
            pass
        return None

    def _print(self, stream: int, text: str, unknown: str = "") -> None:
        if text or unknown:
            self.usage.text(len(text))
            self.printed.append(Printed(stream, text, unknown))

    def _child(self, tested: int | None = None) -> "Shell":
        """Return a subshell with the same state; `tested` is 0 if `errexit` applies to it."""
        self.usage.step(1 + len(self.variables) // 16)
        child = Shell(self.environment, self.variables, self._end)
        child.exported = set(self.exported)
        child.arguments = self.arguments
        child.options = set(self.options)
        child.functions = dict(self.functions)
        child.calls = self.calls
        child.status = self.status
        child._tested = self._tested if tested is None else tested
        child._depth = self._depth
        return child

    def _script(self, script: syntax.Script, stdin: str) -> None:
        for statement in script:
            if statement.background:
                self._begin(statement)
                continue
            pipelines = [("", statement.first), *statement.rest]
            for place, (operator, pipeline) in enumerate(pipelines):
                if operator and (operator == "&&") != (self.status == 0):
                    continue
                last = place == len(pipelines) - 1
                tested = (not last) + pipeline.negated
                self._tested += tested
                try:
                    if len(pipeline.commands) == 1:
                        self._command(pipeline.commands[0], stdin)
                    else:
                        self._piped(pipeline.commands, stdin)
                finally:
                    self._tested -= tested
                if pipeline.negated:
                    self.status = 0 if self.status else 1
                elif last and self.status and not self._tested and "errexit" in self.options:
                    raise ExitError(self.status)

    def _begin(self, statement: syntax.AndOr) -> None:
        """Start `kubectl proxy` in the background; raise UnsupportedError for other commands."""
        command = statement.first.commands[0]
        words = [*self._words(command.words)] if isinstance(command, syntax.Simple) else []
        alone = statement.first == syntax.Pipeline((command,), negated=False) and not statement.rest
        port = _PROXY.fullmatch(" ".join(words))
        if not alone or command.redirects or port is None:
            raise UnsupportedError("commands in the background, `&`, other than `kubectl proxy`")
        self.usage.step(KUBECTL_STEPS)
        self.environment.session.proxy = port[1] or _PROXY_PORT
        self._print(STDOUT, f"Starting to serve on 127.0.0.1:{port[1] or _PROXY_PORT}\n")
        self.status = 0

    def _condition(self, script: syntax.Script, stdin: str) -> bool:
        """Run a script to which `errexit` does not apply; return whether it succeeded."""
        self._tested += 1
        try:
            self._script(script, stdin)
        finally:
            self._tested -= 1
        return self.status == 0

    def _piped(self, commands: tuple[syntax.Command, ...], stdin: str) -> None:
        statuses: list[int] = []
        for place, command in enumerate(commands):
            child = self._child()
            try:
                result = child.run(
                    (syntax.AndOr(syntax.Pipeline((command,), negated=False), ()),), stdin
                )
            except KilledError:
                self.printed += [one for one in child.printed if one.stream == STDERR]
                raise
            statuses.append(result.status)
            last = place == len(commands) - 1
            stdin = "" if last else result.text(STDOUT)
            self.printed += [one for one in result.printed if last or one.stream == STDERR]
        failed = [status for status in statuses if status]
        strict = "pipefail" in self.options and failed
        self.status = failed[-1] if strict else statuses[-1]

    def _command(self, command: syntax.Command, stdin: str) -> None:
        self.usage.step()
        self._depth += 1
        require_depth(self._depth)
        try:
            if command.redirects:
                self._redirected(command, stdin)
            else:
                self._bare(command, stdin)
        finally:
            self._depth -= 1

    def _redirected(self, command: syntax.Command, stdin: str) -> None:
        try:
            stdin, goes = self._opened(command.redirects, stdin)
        except RedirectError as error:
            self._print(STDERR, f"sh: {error}\n")
            self.status = 2
            return
        saved, self.printed = self.printed, []
        try:
            self._bare(command, stdin)
        finally:
            captured, self.printed = self.printed, saved
            for text in captured:
                place = goes[text.stream]
                if isinstance(place, int):
                    self.printed.append(text._replace(stream=place))
                elif place != "/dev/null":
                    require_known(text)
                    self.environment.write(place, text.text, append=True)

    def _bare(self, command: syntax.Command, stdin: str) -> None:
        if isinstance(command, syntax.Simple):
            self._simple(command, stdin)
        elif isinstance(command, syntax.If):
            for condition, body in command.branches:
                if self._condition(condition, stdin):
                    self._script(body, stdin)
                    return
            if not command.otherwise:
                self.status = 0
            self._script(command.otherwise, stdin)
        elif isinstance(command, syntax.CommandGroup):
            if not command.own:
                self._script(command.body, stdin)
                return
            child = self._child()
            try:
                child.run(command.body, stdin)
            finally:
                self.printed += child.printed
            self.status = child.status
        elif isinstance(command, syntax.ShellFunction):
            self.functions[command.name] = command.body
            self.status = 0
        else:
            self.loops += 1
            try:
                self._loop(command, stdin)
            finally:
                self.loops -= 1

    def _opened(
        self, redirects: Iterable[syntax.Redirect], stdin: str
    ) -> tuple[str, dict[int, int | str]]:
        """Open the files of redirections; return the input, and the target of each stream.

        Raises RedirectError if a file cannot be opened.
        """
        goes: dict[int, int | str] = {STDOUT: STDOUT, STDERR: STDERR}
        for one in redirects:
            target = self._one_field(one.target)
            if one.operator == "<<":
                stdin = target
            elif one.operator == "<":
                # In a redirection, `-` is a file name.
                text = self.environment.read("./-" if target == "-" else target, stdin)
                if text is None:
                    raise RedirectError(f"cannot open {target}: No such file")
                stdin = text
            elif one.operator == ">&":
                if target not in {"1", "2"}:
                    raise UnsupportedError(f"the redirection `>&{target}`")
                goes[one.stream] = goes[int(target)]
            elif target in _STREAMS:
                goes[one.stream] = goes[_STREAMS[target]]
            else:
                if target != "/dev/null":
                    why = self.environment.why_not_writable(target)
                    if why:
                        raise RedirectError(f"cannot create {target}: {why}")
                    self.environment.write(target, "", append=one.operator == ">>")
                goes[one.stream] = target
        return stdin, goes

    def _loop(self, tree: syntax.For | syntax.While, stdin: str) -> None:
        if isinstance(tree, syntax.For):
            words = iter([*self._words(tree.words)])

            def another() -> bool:
                word = next(words, None)
                if word is not None:
                    self.variables[tree.name] = word
                return word is not None
        else:

            def another() -> bool:
                return self._condition(tree.condition, stdin) is not tree.until

        status = 0
        while True:
            self.usage.step()
            try:
                if not another():
                    self.status = status
                    return
                self._script(tree.body, stdin)
            except LeftLoopError as left:
                if left.levels > 1:
                    left.levels -= 1
                    raise
                if not left.again:
                    self.status = 0
                    return
            status = self.status

    def _simple(self, command: syntax.Simple, stdin: str) -> None:
        words = [*self._words(command.words)]
        if "xtrace" in self.options:
            # The format of traces depends on the shell.
            self._print(STDERR, "", "`set -x`")
        given = {name: self._one_field(word) for name, word in command.assignments}
        if not words:
            self.variables.update(given)
            parts = [part for _, word in command.assignments for part in word]
            if not any(isinstance(part, syntax.Substitution) for part in parts):
                self.status = 0
            return
        saved = {name: self.variables[name] for name in given if name in self.variables}
        exported = self.exported
        self.variables.update(given)
        if given:
            self.exported = exported | set(given)
        try:
            result = self._invoke(words[0], tuple(words[1:]), stdin)
        finally:
            if given:
                # `X=1 export Y` must not lose Y.
                self.exported = (self.exported - set(given)) | (exported & set(given))
            for name in given:
                self.variables.pop(name, None)
            self.variables.update(saved)
        for one in result.printed:
            self._print(*one)
        self.status = result.status
        if self.environment.session.sim.clock.elapsed > self._end:
            raise KilledError

    def _invoke(self, name: str, arguments: tuple[str, ...], stdin: str) -> Result:
        if name in BUILTINS:
            return BUILTINS[name](self, arguments)
        if name in self.functions:
            return self._call(self.functions[name], arguments, stdin)
        if name in PROGRAMS:
            return PROGRAMS[name](ProgramCall(arguments, stdin, self.environment, self._end))
        if name in {"sh", "bash"} and arguments and not arguments[0].startswith("-"):
            return self._file(arguments[0], arguments[1:], stdin, name)
        if "/" in name:
            return self._file(name, arguments, stdin)
        raise UnsupportedError(f"the program `{name}` in a script")

    def _call(self, body: syntax.Command, arguments: tuple[str, ...], stdin: str) -> Result:
        """Run a function, whose output is added to that of the shell."""
        outer = self.arguments, self.loops
        self.arguments, self.loops = arguments, 0
        self.calls += 1
        self.status = 0
        try:
            self._command(body, stdin)
        except ReturnError:
            pass
        finally:
            self.arguments, self.loops = outer
            self.calls -= 1
        return Result(self.status)

    def _file(self, name: str, arguments: tuple[str, ...], stdin: str, shell: str = "") -> Result:
        """Run a script in the test's folder by a shell, or by the one in its first line."""
        text = self.environment.read(name)
        if text is None:
            raise UnsupportedError(f"the script `{name}`, which is not in the test's folder")
        variables = {one: text for one, text in self.variables.items() if one in self.exported}
        child = Shell(self.environment, variables, self._end)
        child._depth = self._depth + 1
        require_depth(child._depth)
        child.arguments = arguments
        first = text.split("\n", 1)[0]
        line = _SHELL_LINE.fullmatch(first)
        if not shell and line and line[1]:
            child.options = {option for flag, option in _FLAGS.items() if flag in line[1]}
        self.usage.step(len(text) // 16)
        printed: tuple[Printed, ...] = ()
        try:
            script = parsed(text, bash="bash" in (shell or first))
            printed = child.run(script, stdin).printed
        except KilledError:
            self.printed += child.printed
            raise
        # The output was counted while the script ran.
        self.printed += printed
        return Result(child.status)

    def _one_field(self, word: syntax.Word) -> str:
        self._require_plain(word)
        return "".join(self._text(part) for part in word)

    def _require_plain(self, word: syntax.Word) -> None:
        """Raise UnsupportedError for expansions that are not implemented.

        Bash expands braces, dash does not.
        """
        for place, part in enumerate(word):
            if not isinstance(part, syntax.LiteralPart) or part.quoted:
                continue
            if not place and part.text.startswith("~"):
                raise UnsupportedError("the home directory, `~`")
            if any(_SEVERAL.search(inner) for inner in _BRACES.findall(part.text)):
                text = f"brace expansion in `{part.text}`, which is not the same in all shells"
                raise UnsupportedError(text)

    def _words(self, words: Iterable[syntax.Word]) -> Iterator[str]:
        """Yield the fields of words; patterns are replaced by the file names that they match."""
        for word in words:
            for field, pattern in self._fields(word):
                self.usage.step()
                yield from (pattern and self.environment.matching(pattern)) or (field,)

    def _fields(self, word: syntax.Word) -> list[tuple[str, str]]:
        """Return the fields of a word, each with its glob pattern or "".

        Unquoted expansions are split at blanks; `"$@"` is a field for each argument, and none
        without arguments.
        """
        self._require_plain(word)
        parts = [one for one in word if one != syntax.LiteralPart("", quoted=True)]
        if not self.arguments and len(parts) == 1 and _is_arguments(parts[0]):
            return []
        fields: list[list[tuple[str, bool]]] = []
        current: list[tuple[str, bool]] | None = None
        for part in word:
            quoted = isinstance(part, syntax.LiteralPart) or part.quoted
            for place, piece in enumerate(self._pieces(part)):
                if place and current is not None:
                    fields.append(current)
                    current = None
                if piece or quoted:
                    current = [] if current is None else current
                    current.append((piece, part.quoted))
        if current is not None:
            fields.append(current)
        return [_field(one) for one in fields]

    def _pieces(self, part: syntax.Part) -> Sequence[str]:
        """Return the expansion of a part of a word; a field ends between two pieces."""
        if isinstance(part, syntax.VariablePart) and _is_arguments(part):
            self.usage.step(len(self.arguments))
            self.usage.text(sum(map(len, self.arguments)))
            return self.arguments
        text = self._text(part)
        if isinstance(part, syntax.LiteralPart) or part.quoted:
            return (text,)
        self.usage.step(len(text) // 64)
        pieces = _BLANK.split(text)
        self.usage.step(len(pieces))
        return pieces

    def _text(self, part: syntax.Part) -> str:
        text = self._expanded(part)
        self.usage.text(len(text))
        return text

    def _expanded(self, part: syntax.Part) -> str:
        if isinstance(part, syntax.LiteralPart):
            return part.text
        if isinstance(part, syntax.Arithmetic):
            return str(arithmetic(self._one_field(part.expression), self._variable))
        if isinstance(part, syntax.Substitution):
            child = self._child(tested=0)
            try:
                result = child.run(part.body)
            finally:
                self.printed += [one for one in child.printed if one.stream == STDERR]
            self.status = result.status
            return result.text(STDOUT).rstrip("\n")
        if part.name == "?":
            return str(self.status)
        if part.fallback is not None:
            return self._value(part.name) or self._one_field(part.fallback)
        value = self._variable(part.name)
        return edited(value, part.edit, self.usage.step) if part.edit else value

    def _variable(self, name: str) -> str:
        """Return the value of a variable; raise UnsupportedError if it is not set."""
        value = self._value(name)
        if value is None:
            raise UnsupportedError(f"the variable `${name}`, which the test does not set")
        return value

    def _value(self, name: str) -> str | None:
        if name in {"@", "*"}:
            return " ".join(self.arguments)
        if name == "#":
            return str(len(self.arguments))
        if name == "!":
            return _PROXY_PROCESS if self.environment.session.proxy else None
        if name.isdigit() and name != "0":
            return self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else ""
        return self.variables.get(name)


def _is_arguments(part: syntax.Part) -> bool:
    return isinstance(part, syntax.VariablePart) and part.name == "@" and part.quoted


def _field(parts: list[tuple[str, bool]]) -> tuple[str, str]:
    """Return a field and its glob pattern, "" if it is not a pattern."""
    text = "".join(part for part, _ in parts)
    if len(text) > _LONGEST_PATTERN or not any(
        not quoted and _GLOB.search(part) for part, quoted in parts
    ):
        return text, ""
    quoted_too = "".join(
        re.sub(r"([*?\[])", r"[\1]", part) if quoted else part for part, quoted in parts
    )
    return text, quoted_too


def parsed(text: str, *, bash: bool = False) -> syntax.Script:
    """Return the tree of a script; raise UnsupportedError if it cannot be parsed.

    `bash` allows syntax that other shells do not have.
    """
    if len(text) > _MOST_TEXT:
        raise UnsupportedError(f"a script of more than {_MOST_TEXT:,} characters")
    first = text.split("\n", 1)[0]
    if first.startswith("#!") and not _SHELL_LINE.fullmatch(first):
        raise UnsupportedError(f"a script for `{first[2:].strip()}`")
    try:
        return syntax.parse_script(text, bash=bash)
    except syntax.ShellSyntaxError as error:
        raise UnsupportedError(f"the script uses unsupported syntax: {error}") from None


# Builtins, which change the shell itself; `BUILTINS` lists them.
#
# Their errors are those of dash, which ends a script if one of them fails. Source of the
# rules: POSIX, Shell Command Language, 2.14.

_OPTIONS = frozenset({*_FLAGS.values(), "pipefail"})
_DIGITS = re.compile(r"[0-9]{1,9}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIGNALS = frozenset({"0", "EXIT", "HUP", "INT", "TERM"})


def _count(name: str, arguments: tuple[str, ...], default: int) -> int:
    """Return the number in a command's first argument; raise ExitError if it is invalid."""
    if not arguments:
        return default
    if not _DIGITS.fullmatch(arguments[0]):
        raise ExitError(2, f"sh: {name}: Illegal number: {arguments[0]}\n")
    return int(arguments[0])


def _exit(shell: Shell, arguments: tuple[str, ...]) -> Result:
    raise ExitError(_count("exit", arguments, shell.status) % 256)


def _leave(name: str, shell: Shell, arguments: tuple[str, ...], *, again: bool) -> Result:
    levels = _count(name, arguments, 1)
    if levels < 1:
        raise ExitError(2, f"sh: {name}: Illegal number: {arguments[0]}\n")
    if not shell.loops:
        return Result()
    shell.status = 0
    raise LeftLoopError(min(levels, shell.loops), again=again)


def _require_name(command: str, name: str) -> None:
    if name.startswith("-"):
        raise UnsupportedError(f"`{command} {name}`")
    if not _NAME.fullmatch(name):
        raise ExitError(2, f"sh: {command}: {name}: bad variable name\n")


def _export(shell: Shell, arguments: tuple[str, ...]) -> Result:
    if not arguments:
        raise UnsupportedError("`export` without a name")
    for one in arguments:
        name, assigned, value = one.partition("=")
        _require_name("export", name)
        shell.exported.add(name)
        if assigned:
            shell.variables[name] = value
    return Result()


def _set(shell: Shell, arguments: tuple[str, ...]) -> Result:
    if not arguments:
        raise UnsupportedError("`set` without an option")
    before = ""
    for one in arguments:
        letters = set(one[1:])
        if one in _OPTIONS and before.endswith("o") and before[:1] in {"-", "+"}:
            sign, options = before[0], {one}
        elif one[:1] in {"-", "+"} and letters and letters <= {*_FLAGS, "o"}:
            sign, options = one[0], {option for flag, option in _FLAGS.items() if flag in one}
        else:
            raise UnsupportedError(f"`set {one}`")
        shell.options = shell.options | options if sign == "-" else shell.options - options
        before = one
    return Result()


def _return(shell: Shell, arguments: tuple[str, ...]) -> Result:
    if not shell.calls:
        raise UnsupportedError("`return` outside of a function")
    shell.status = _count("return", arguments, shell.status) % 256
    raise ReturnError


def _trap(shell: Shell, arguments: tuple[str, ...]) -> Result:
    """Set the commands to run at the end; signals do not occur here."""
    if len(arguments) < 2 or not set(arguments[1:]) <= _SIGNALS:
        raise UnsupportedError(f"`trap {' '.join(arguments)}`")
    if not {"EXIT", "0"}.isdisjoint(arguments[1:]):
        shell.trap = "" if arguments[0] == "-" else arguments[0]
    return Result()


def _kill(shell: Shell, arguments: tuple[str, ...]) -> Result:
    session = shell.environment.session
    if arguments != (_PROXY_PROCESS,) or not session.proxy:
        raise UnsupportedError(f"`kill {' '.join(arguments)}`")
    session.proxy = ""
    return Result()


def _unset(shell: Shell, arguments: tuple[str, ...]) -> Result:
    for name in arguments:
        _require_name("unset", name)
        shell.variables.pop(name, None)
        shell.exported.discard(name)
    return Result()


def _shift(shell: Shell, arguments: tuple[str, ...]) -> Result:
    count = _count("shift", arguments, 1)
    if count > len(shell.arguments):
        raise ExitError(2, "sh: shift: can't shift that many\n")
    shell.arguments = shell.arguments[count:]
    return Result()


BUILTINS: Mapping[str, Callable[[Shell, tuple[str, ...]], Result]] = {
    "exit": _exit,
    "break": lambda shell, arguments: _leave("break", shell, arguments, again=False),
    "continue": lambda shell, arguments: _leave("continue", shell, arguments, again=True),
    "export": _export,
    "set": _set,
    "unset": _unset,
    "shift": _shift,
    "return": _return,
    "trap": _trap,
    "kill": _kill,
}
