"""Tokens → syntax tree.

Source of the rules: POSIX, Shell Command Language, 2.9 and 2.10.
"""

import re

from kyvsim.chainsaw.shell.syntax import (
    AndOr,
    Command,
    For,
    Group,
    If,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Text,
    While,
    Word,
)
from kyvsim.chainsaw.shell.tokens import ShellSyntaxError, Token, tokenize
from kyvsim.chainsaw.usage import require_depth

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REDIRECTS = ("<", ">", ">>", ">&", "<<")
_ENDINGS = frozenset({"then", "elif", "else", "fi", "do", "done", "}", "esac"})
_REFUSED = frozenset({"case", "function", "select", "[["})


def parse_script(text: str) -> Script:
    """Return the tree of a script; raise ShellSyntaxError where it is not understood."""
    return _parse(text, 0)


def _parse(text: str, depth: int) -> Script:
    """Return the tree of a script that is `depth` substitutions deep in another one."""
    require_depth(depth)
    parser = _Parser(tokenize(text, lambda inner: _parse(inner, depth + 1)))
    script = parser.script()
    if not parser.at_end:
        raise ShellSyntaxError(f"unexpected `{parser.shown()}`")
    return script


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.tokens)

    def shown(self) -> str:
        token = self.tokens[self.at]
        return token.operator or token.plain

    def _operator(self) -> str:
        return "" if self.at_end else self.tokens[self.at].operator

    def _plain(self) -> str:
        return "" if self.at_end else self.tokens[self.at].plain

    def _take(self) -> Token:
        if self.at_end:
            raise ShellSyntaxError("unexpected end")
        self.at += 1
        return self.tokens[self.at - 1]

    def _expect(self, word: str) -> None:
        if self.at_end or self._plain() != word:
            raise ShellSyntaxError(f"there is no `{word}`")
        self.at += 1

    def _skip_lines(self) -> None:
        while not self.at_end and self._operator() == "\n":
            self.at += 1

    def _skip_separator(self) -> None:
        """Take one `;` and any line ends."""
        if self._operator() == ";":
            self.at += 1
        self._skip_lines()

    def script(self) -> Script:
        """Return the commands up to what ends them; there may be none."""
        found: list[AndOr] = []
        self._skip_lines()
        while not self.at_end and self._plain() not in _ENDINGS and self._operator() != ")":
            found.append(self._and_or())
            if self._operator() == "&":
                raise ShellSyntaxError("commands in the background, `&`")
            if self._operator() not in {";", "\n"}:
                break
            self._skip_separator()
        return tuple(found)

    def _body(self) -> Script:
        """Return the commands inside of another one, of which there must be some."""
        found = self.script()
        if not found:
            raise ShellSyntaxError(f"unexpected `{'' if self.at_end else self.shown()}`")
        return found

    def _and_or(self) -> AndOr:
        first = self._pipeline()
        rest: list[tuple[str, Pipeline]] = []
        while self._operator() in {"&&", "||"}:
            operator = self._take().operator
            self._skip_lines()
            rest.append((operator, self._pipeline()))
        return AndOr(first, tuple(rest))

    def _pipeline(self) -> Pipeline:
        negated = self._plain() == "!"
        if negated:
            self.at += 1
        commands = [self._command()]
        while self._operator() == "|":
            self.at += 1
            self._skip_lines()
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    def _command(self) -> Command:
        self.depth += 1
        require_depth(self.depth)
        try:
            return self._one_command()
        finally:
            self.depth -= 1

    def _one_command(self) -> Command:
        word = self._plain()
        if word in _REFUSED:
            raise ShellSyntaxError(f"`{word}`")
        if word in _ENDINGS or word == "!":
            raise ShellSyntaxError(f"unexpected `{word}`")
        if word == "if":
            return self._if()
        if word == "for":
            return self._for()
        if word in {"while", "until"}:
            return self._while()
        if word == "{":
            self.at += 1
            body = self._body()
            self._expect("}")
            return Group(body, own=False, redirects=self._redirects())
        if self._operator() == "(":
            self.at += 1
            body = self._body()
            if self._operator() != ")":
                raise ShellSyntaxError("a ( without its end")
            self.at += 1
            return Group(body, own=True, redirects=self._redirects())
        return self._simple()

    def _if(self) -> If:
        branches: list[tuple[Script, Script]] = []
        while self._plain() in {"if", "elif"}:
            self.at += 1
            condition = self._body()
            self._expect("then")
            branches.append((condition, self._body()))
        otherwise: Script = ()
        if self._plain() == "else":
            self.at += 1
            otherwise = self._body()
        self._expect("fi")
        return If(tuple(branches), otherwise, self._redirects())

    def _for(self) -> For:
        self.at += 1
        name = self._take().plain
        if not _NAME.fullmatch(name):
            raise ShellSyntaxError("a loop over what is not the name of a variable")
        self._expect("in")
        words: list[Word] = []
        while not self.at_end and not self._operator():
            words.append(self._take().word)
        self._skip_separator()
        return For(name, tuple(words), self._do(), self._redirects())

    def _while(self) -> While:
        until = self._take().plain == "until"
        condition = self._body()
        return While(condition, self._do(), until, self._redirects())

    def _do(self) -> Script:
        self._expect("do")
        body = self._body()
        self._expect("done")
        return body

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while self._is_redirect():
            found.append(self._redirect())
        return tuple(found)

    def _is_redirect(self) -> bool:
        return self._operator().lstrip("012") in _REDIRECTS

    def _redirect(self) -> Redirect:
        token = self._take()
        operator = token.operator.lstrip("012")
        stream = token.operator[0] if token.operator[0].isdigit() else ""
        number = int(stream) if stream else (0 if operator.startswith("<") else 1)
        if operator == "<<":
            return Redirect(0, "<<", token.word)
        target = self._take()
        if target.operator:
            raise ShellSyntaxError(f"unexpected `{target.operator}`")
        return Redirect(number, operator, target.word)

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while not self.at_end:
            if self._is_redirect():
                redirects.append(self._redirect())
                continue
            if self._operator():
                break
            word = self._take().word
            assigned = None if words else _assignment(word)
            if assigned is None:
                words.append(word)
            else:
                assignments.append(assigned)
        if self._operator() == "(" and words:
            raise ShellSyntaxError("functions")
        if not words and not assignments and not redirects:
            raise ShellSyntaxError(f"unexpected `{'' if self.at_end else self.shown()}`")
        return Simple(tuple(assignments), tuple(words), tuple(redirects))


def _assignment(word: Word) -> tuple[str, Word] | None:
    first = word[0] if word else None
    if not isinstance(first, Text) or first.quoted:
        return None
    found = _ASSIGNMENT.fullmatch(first.text)
    if found is None:
        return None
    rest = (Text(found[2], quoted=False),) if found[2] else ()
    return found[1], (*rest, *word[1:])
