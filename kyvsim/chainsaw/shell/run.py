"""The interpreter: a syntax tree, run on the simulated cluster.

Source of the rules: POSIX, Shell Command Language, 2.6 to 2.9.
"""

from collections.abc import Callable, Iterable, Mapping

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.shell.builtins import BUILTINS, ExitError, LeftLoopError
from kyvsim.chainsaw.shell.parse import parse_script
from kyvsim.chainsaw.shell.programs import PROGRAMS, Call
from kyvsim.chainsaw.shell.syntax import (
    AndOr,
    Command,
    For,
    Group,
    If,
    Part,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Substitution,
    Text,
    While,
    Word,
)
from kyvsim.chainsaw.shell.tokens import ShellSyntaxError
from kyvsim.chainsaw.streams import STDERR, STDOUT, Printed, Result
from kyvsim.chainsaw.surroundings import Surroundings

_MOST_TURNS = 10_000


class Shell:
    """A shell that runs: its variables and options, and what was printed so far."""

    def __init__(
        self, surroundings: Surroundings, variables: Mapping[str, str], tested: int = 0
    ) -> None:
        self.surroundings = surroundings
        self.variables = dict(variables)
        self.arguments: tuple[str, ...] = ()
        self.printed: list[Printed] = []
        self.status = 0
        self.options: set[str] = set()
        """`errexit`, `pipefail`, `nounset`."""
        self._tested = tested
        """How many conditions are being asked around what runs now."""

    def run(self, script: Script, stdin: str = "") -> Result:
        """Run a script to its end; return how it ended."""
        try:
            self._script(script, stdin)
        except ExitError as ending:
            self.status = ending.status
        return Result(self.status, tuple(self.printed))

    def _child(self, tested: int | None = None) -> "Shell":
        """Return a shell that begins as this one is; `tested` is 0 where its failures count."""
        child = Shell(self.surroundings, self.variables, self._tested if tested is None else tested)
        child.arguments = self.arguments
        child.options = set(self.options)
        child.status = self.status
        return child

    def _script(self, script: Script, stdin: str) -> None:
        for one in script:
            self._and_or(one, stdin)

    def _condition(self, script: Script, stdin: str) -> bool:
        """Run a script whose failure ends nothing; return whether it succeeded."""
        self._tested += 1
        try:
            self._script(script, stdin)
        finally:
            self._tested -= 1
        return self.status == 0

    def _and_or(self, tree: AndOr, stdin: str) -> None:
        pipelines = [("", tree.first), *tree.rest]
        for place, (operator, pipeline) in enumerate(pipelines):
            if operator and (operator == "&&") != (self.status == 0):
                continue
            last = place == len(pipelines) - 1
            self._tested += not last
            try:
                self._pipeline(pipeline, stdin)
            finally:
                self._tested -= not last
            if last and not pipeline.negated:
                self._stop_at_failure()

    def _stop_at_failure(self) -> None:
        if self.status and not self._tested and "errexit" in self.options:
            raise ExitError(self.status)

    def _pipeline(self, tree: Pipeline, stdin: str) -> None:
        self._tested += tree.negated
        try:
            if len(tree.commands) == 1:
                self._command(tree.commands[0], stdin)
            else:
                self._piped(tree.commands, stdin)
        finally:
            self._tested -= tree.negated
        if tree.negated:
            self.status = 0 if self.status else 1

    def _piped(self, commands: tuple[Command, ...], stdin: str) -> None:
        statuses: list[int] = []
        for place, command in enumerate(commands):
            child = self._child()
            result = child.run((AndOr(Pipeline((command,), negated=False), ()),), stdin)
            statuses.append(result.status)
            stdin = result.text(STDOUT)
            last = place == len(commands) - 1
            self.printed += [one for one in result.printed if last or one.stream == STDERR]
        failed = [status for status in statuses if status]
        strict = "pipefail" in self.options and failed
        self.status = failed[-1] if strict else statuses[-1]

    def _command(self, command: Command, stdin: str) -> None:
        if not command.redirects:
            self._bare(command, stdin)
            return
        saved, self.printed = self.printed, []
        try:
            self._bare(command, self._input(command.redirects, stdin))
        finally:
            captured, self.printed = self.printed, saved
            self._route(captured, command.redirects)

    def _bare(self, command: Command, stdin: str) -> None:
        if isinstance(command, Simple):
            self._simple(command, stdin)
        elif isinstance(command, If):
            self._if(command, stdin)
        elif isinstance(command, Group):
            self._group(command, stdin)
        else:
            self._loop(command, stdin)

    def _input(self, redirects: Iterable[Redirect], stdin: str) -> str:
        for one in redirects:
            if one.operator == "<<":
                stdin = self._one_field(one.target)
            elif one.operator == "<":
                name = self._one_field(one.target)
                found = self.surroundings.read(name, stdin)
                if found is None:
                    raise UnsupportedError(f"reading `{name}`, which is not there")
                stdin = found
        return stdin

    def _route(self, captured: list[Printed], redirects: Iterable[Redirect]) -> None:
        """Pass on what was printed to where redirections say."""
        goes: dict[int, int | str] = {STDOUT: STDOUT, STDERR: STDERR}
        for one in redirects:
            if one.operator in {">", ">>"}:
                name = self._one_field(one.target)
                self.surroundings.write(name, "", append=one.operator == ">>")
                goes[one.stream] = name
            elif one.operator == ">&":
                target = self._one_field(one.target)
                if not target.isdigit() or int(target) not in goes:
                    raise UnsupportedError(f"the redirection `>&{target}`")
                goes[one.stream] = goes[int(target)]
        for text in captured:
            place = goes[text.stream]
            if isinstance(place, int):
                self.printed.append(Printed(place, text.text))
            else:
                self.surroundings.write(place, text.text, append=True)

    def _group(self, group: Group, stdin: str) -> None:
        if not group.own:
            self._script(group.body, stdin)
            return
        result = self._child().run(group.body, stdin)
        self.printed += result.printed
        self.status = result.status

    def _if(self, tree: If, stdin: str) -> None:
        for condition, body in tree.branches:
            if self._condition(condition, stdin):
                self.status = 0
                self._script(body, stdin)
                return
        self.status = 0
        self._script(tree.otherwise, stdin)

    def _loop(self, tree: For | While, stdin: str) -> None:
        if isinstance(tree, For):
            words = [field for word in tree.words for field in self._fields(word)]

            def another(turn: int) -> bool:
                if turn < len(words):
                    self.variables[tree.name] = words[turn]
                return turn < len(words)
        else:

            def another(turn: int) -> bool:
                del turn
                return self._condition(tree.condition, stdin) is not tree.until

        self._turns(another, tree.body, stdin)

    def _turns(self, another: Callable[[int], bool], body: Script, stdin: str) -> None:
        status = 0
        for turn in range(_MOST_TURNS):
            if not another(turn):
                self.status = status
                return
            try:
                self._script(body, stdin)
            except LeftLoopError as left:
                if not left.again:
                    self.status = 0
                    return
            status = self.status
        raise UnsupportedError("a loop that does not end")

    def _simple(self, command: Simple, stdin: str) -> None:
        words = [field for word in command.words for field in self._fields(word)]
        given = {name: self._one_field(word) for name, word in command.assignments}
        if not words:
            substitutes = any(
                isinstance(part, Substitution) for _, word in command.assignments for part in word
            )
            self.variables.update(given)
            self.status = self.status if substitutes else 0
            return
        saved = dict(self.variables)
        self.variables.update(given)
        try:
            result = self._invoke(words[0], tuple(words[1:]), stdin)
        finally:
            for name in given:
                self.variables.pop(name, None)
                if name in saved:
                    self.variables[name] = saved[name]
        self.printed += result.printed
        self.status = result.status

    def _invoke(self, name: str, arguments: tuple[str, ...], stdin: str) -> Result:
        for builtin in BUILTINS:
            if builtin.name == name:
                return builtin.run(self, arguments)
        for program in PROGRAMS:
            if program.name == name:
                return program.run(Call(arguments, stdin, self.surroundings))
        if name in {"sh", "bash"} and arguments and not arguments[0].startswith("-"):
            return self._file(arguments[0], arguments[1:], stdin)
        if "/" in name:
            return self._file(name, arguments, stdin)
        raise UnsupportedError(f"the program `{name}` in a script")

    def _file(self, name: str, arguments: tuple[str, ...], stdin: str) -> Result:
        text = self.surroundings.read(name)
        if text is None:
            raise UnsupportedError(f"the script `{name}`, which is not beside the test")
        child = Shell(self.surroundings, self.variables)
        child.arguments = arguments
        return child.run(parsed(text), stdin)

    def _one_field(self, word: Word) -> str:
        return "".join(self._text(part) for part in word)

    def _fields(self, word: Word) -> list[str]:
        """Return the fields of a word: what is filled in without quotes is split at blanks."""
        fields: list[str] = []
        current: str | None = None
        for part in word:
            text = self._text(part)
            if isinstance(part, Text) or part.quoted:
                current = (current or "") + text
                continue
            pieces = text.split()
            if text[:1].isspace() and current is not None:
                fields.append(current)
                current = None
            for place, piece in enumerate(pieces):
                if place and current is not None:
                    fields.append(current)
                    current = None
                current = (current or "") + piece
            if text[-1:].isspace() and current is not None:
                fields.append(current)
                current = None
        return fields if current is None else [*fields, current]

    def _text(self, part: Part) -> str:
        if isinstance(part, Text):
            return part.text
        if isinstance(part, Substitution):
            child = self._child(tested=0)
            result = child.run(part.body)
            self.printed += [one for one in result.printed if one.stream == STDERR]
            self.status = result.status
            return result.text(STDOUT).rstrip("\n")
        if part.name == "?":
            return str(self.status)
        found = self.variables.get(part.name) or self._positional(part.name)
        if found is None or (not found and part.fallback is not None):
            if part.fallback is None:
                raise UnsupportedError(f"the variable `${part.name}`, which the test does not set")
            return self._one_field(part.fallback)
        return found

    def _positional(self, name: str) -> str | None:
        if name in {"@", "*"}:
            return " ".join(self.arguments)
        if name == "#":
            return str(len(self.arguments))
        if name.isdigit() and name != "0":
            return self.arguments[int(name) - 1] if int(name) <= len(self.arguments) else ""
        return self.variables.get(name)


def parsed(text: str) -> Script:
    """Return the tree of a script; raise UnsupportedError where it is not understood."""
    first = text.split("\n", 1)[0]
    if first.startswith("#!") and not first.rstrip().endswith(("sh", "sh -e", "sh -x")):
        raise UnsupportedError(f"a script for `{first[2:].strip()}`")
    try:
        return parse_script(text)
    except ShellSyntaxError as error:
        raise UnsupportedError(f"the script has what is not interpreted: {error}") from None
