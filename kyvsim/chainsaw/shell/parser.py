"""Shell scripts: tokens, syntax tree, parser."""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, Union

from kyvsim.chainsaw.errors import require_depth
from kyvsim.chainsaw.shell.expansion import BASH_ONLY, OPERATORS, ValueEdit, parse_edit

# The syntax tree of scripts.


class LiteralPart(NamedTuple):
    """A literal part of a word."""

    text: str
    quoted: bool


class VariablePart(NamedTuple):
    """`$name`, `${name:-fallback}`, or a value with an edit such as `${name%pattern}`."""

    name: str
    quoted: bool
    fallback: "Word | None" = None
    edit: ValueEdit | None = None


class Substitution(NamedTuple):
    """`$(script)`."""

    body: "Script"
    quoted: bool


class Arithmetic(NamedTuple):
    """`$((expression))`."""

    expression: "Word"
    quoted: bool


Part: TypeAlias = LiteralPart | VariablePart | Substitution | Arithmetic
Word: TypeAlias = tuple[Part, ...]


class Redirect(NamedTuple):
    """A redirection of a stream."""

    stream: int
    """0, 1 or 2."""
    operator: str
    """`<`, `>`, `>>`, `>&` or `<<`."""
    target: Word


class Simple(NamedTuple):
    """A command with its arguments, and assignments before it."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


class Pipeline(NamedTuple):
    """Commands connected by pipes."""

    commands: tuple["Command", ...]
    negated: bool


class AndOr(NamedTuple):
    """Pipelines connected by `&&` and `||`."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]
    background: bool = False
    """Whether it ends with `&`."""


class If(NamedTuple):
    """Conditions with their bodies, and the body of `else`."""

    branches: tuple[tuple["Script", "Script"], ...]
    otherwise: "Script"
    redirects: tuple[Redirect, ...]


class For(NamedTuple):
    """A loop over words."""

    name: str
    words: tuple[Word, ...]
    body: "Script"
    redirects: tuple[Redirect, ...]


class While(NamedTuple):
    """A loop while a condition succeeds, or until it does."""

    condition: "Script"
    body: "Script"
    until: bool
    redirects: tuple[Redirect, ...]


class CommandGroup(NamedTuple):
    """`{ … }`, or `( … )` in a subshell."""

    body: "Script"
    own: bool
    redirects: tuple[Redirect, ...]


class ShellFunction(NamedTuple):
    """The definition of a function."""

    name: str
    body: "Command"
    redirects: tuple[Redirect, ...] = ()


Command: TypeAlias = Union[  # noqa: UP007 — forward references
    Simple, If, For, While, CommandGroup, ShellFunction
]
Script: TypeAlias = tuple[AndOr, ...]

# The lexer: text to tokens (words, operators, line ends).
#
# Source of the rules: POSIX, Shell Command Language, 2.2 and 2.3.

_BLANK = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_OPERATOR = re.compile(r"(?:[012]?(?:>&|>>|<<-?|>|<))|&&|\|\||;;|[;|&()\n]")
_OTHER_STREAM = re.compile(r"(?:[3-9]|[0-9]{2,})[<>]")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9?#@*!$-]")
_PLAIN = re.compile(r"[^\s\\'\"$`;|&()<>]+")
_DOUBLE = re.compile(r'[^\\"$`]+')
_ESCAPED_IN_DOUBLE = '$`"\\'


class ShellSyntaxError(Exception):
    """A script that is invalid or uses unsupported syntax; the text is the message."""


class ShellToken(NamedTuple):
    """An operator, or a word."""

    operator: str
    """"" for a word."""
    word: Word = ()

    @property
    def plain(self) -> str:
        """The text of a word without quotes and variables, or ""."""
        only = self.word[0] if len(self.word) == 1 else None
        return only.text if isinstance(only, LiteralPart) and not only.quoted else ""


class _Lexer:
    def __init__(self, text: str, parse: Callable[[str], Script], *, bash: bool) -> None:
        self.text = text
        self.bash = bash
        self.at = 0
        self.parse = parse
        self.waiting: list[tuple[int, str, bool, bool]] = []
        """Here-documents that begin in the next line: the token's index, the delimiter, whether
        leading tabs are stripped, and whether variables are expanded."""

    def tokens(self) -> list[ShellToken]:
        tokens: list[ShellToken] = []
        while True:
            self.at = self._match(_BLANK).end()
            if self.at >= len(self.text):
                return [*tokens, ShellToken("\n")]
            operator = _OPERATOR.match(self.text, self.at)
            if operator is None:
                if _OTHER_STREAM.match(self.text, self.at):
                    raise ShellSyntaxError("a redirection of a stream other than 0, 1 and 2")
                tokens.append(ShellToken("", self._word()))
                continue
            self.at = operator.end()
            if operator[0].lstrip("012").startswith("<<"):
                tokens.append(self._here_document(len(tokens), operator[0]))
                continue
            tokens.append(ShellToken(operator[0]))
            if operator[0] == "\n":
                self._bodies(tokens)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ShellSyntaxError("unexpected end")
        return match

    def _here_document(self, place: int, operator: str) -> ShellToken:
        self.at = self._match(_BLANK).end()
        word = self._word()
        if not word:
            raise ShellSyntaxError("a here-document without an end")
        if not all(isinstance(part, LiteralPart) for part in word):
            raise ShellSyntaxError("a here-document with an unsupported delimiter")
        end = "".join(part.text for part in word if isinstance(part, LiteralPart))
        expands = not any(isinstance(part, LiteralPart) and part.quoted for part in word)
        self.waiting.append((place, end, operator.endswith("-"), expands))
        return ShellToken("<<")

    def _bodies(self, tokens: list[ShellToken]) -> None:
        for place, delimiter, stripped, expands in self.waiting:
            lines: list[str] = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                line = line.lstrip("\t") if stripped else line
                if line == delimiter:
                    break
                lines.append(f"{line}\n")
            body = "".join(lines)
            word: Word = (LiteralPart(body, quoted=True),)
            tokens[place] = ShellToken("<<", self._inner(body).quoted_text() if expands else word)
        self.waiting = []

    def _inner(self, text: str) -> "_Lexer":
        return _Lexer(text, self.parse, bash=self.bash)

    def quoted_text(self) -> Word:
        """Return the text parsed as in double quotes, with `"` as a literal."""
        parts: list[Part] = []
        while self.at < len(self.text):
            if self.text[self.at] == '"':
                self.at += 1
                parts.append(LiteralPart('"', quoted=True))
            else:
                parts.append(self._part_in_double())
        return tuple(parts)

    def _word(self) -> Word:
        parts: list[Part] = []
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                self.at = plain.end()
                parts.append(LiteralPart(plain[0], quoted=False))
                continue
            if self.text[self.at] not in "\\'\"$`":
                break
            parts += self._special()
        joined: list[Part] = []
        texts: list[str] = []
        for place, part in enumerate(parts):
            if not isinstance(part, LiteralPart):
                joined.append(part)
                continue
            texts.append(part.text)
            following = parts[place + 1] if place + 1 < len(parts) else None
            if not isinstance(following, LiteralPart) or following.quoted != part.quoted:
                joined.append(LiteralPart("".join(texts), part.quoted))
                texts = []
        return tuple(joined)

    def _special(self) -> list[Part]:
        start = self.text[self.at]
        if start == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            # At the end of a script a backslash is literal.
            return [] if following == "\n" else [LiteralPart(following or "\\", quoted=True)]
        if start == "'":
            end = self._find("'", self.at + 1)
            inner = self.text[self.at + 1 : end]
            self.at = end + 1
            return [LiteralPart(inner, quoted=True)]
        if start == '"':
            self.at += 1
            parts: list[Part] = [LiteralPart("", quoted=True)]
            while self.at < len(self.text):
                if self.text[self.at] == '"':
                    self.at += 1
                    return parts
                parts.append(self._part_in_double())
            raise ShellSyntaxError('an unclosed "')
        return [self._dollar(quoted=False)]

    def _find(self, mark: str, start: int) -> int:
        end = self.text.find(mark, start)
        if end < 0:
            raise ShellSyntaxError(f"an unclosed {mark}")
        return end

    def _part_in_double(self) -> Part:
        plain = _DOUBLE.match(self.text, self.at)
        if plain:
            self.at = plain.end()
            return LiteralPart(plain[0], quoted=True)
        if self.text[self.at] != "\\":
            return self._dollar(quoted=True)
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return LiteralPart("", quoted=True)
        return LiteralPart(
            following if following in _ESCAPED_IN_DOUBLE else f"\\{following}", quoted=True
        )

    def _dollar(self, *, quoted: bool) -> Part:
        if self.text[self.at] == "`":
            end = self._find("`", self.at + 1)
            body = self.text[self.at + 1 : end]
            self.at = end + 1
            return Substitution(self.parse(body), quoted)
        if self.text.startswith("$(", self.at):
            end = self._closing(self.at + 2)
            body = self.text[self.at + 2 : end]
            self.at = end + 1
            if body.startswith("(") and body.endswith(")"):
                return Arithmetic(self._inner(body[1:-1]).quoted_text(), quoted)
            return Substitution(self.parse(body), quoted)
        if self.text.startswith("${", self.at):
            end = self._find("}", self.at)
            inner = self.text[self.at + 2 : end]
            self.at = end + 1
            name = _PARAMETER.match(inner)
            rest = inner[name.end() :] if name else ""
            if name and not rest:
                return VariablePart(name[0], quoted)
            if name and rest.startswith(":-"):
                if any(one in rest for one in "'\"\\"):
                    # Shells treat quotes there differently, depending on outer quotes.
                    raise ShellSyntaxError(f"quotes in `${{{inner}}}`")
                return VariablePart(name[0], quoted, self._inner(rest[2:]).quoted_text())
            operator = next((one for one in OPERATORS if rest.startswith(one)), "")
            edit = parse_edit(operator, rest[len(operator) :]) if operator and name else None
            if name is None or edit is None or (operator in BASH_ONLY and not self.bash):
                raise ShellSyntaxError(f"`${{{inner}}}`")
            return VariablePart(name[0], quoted, edit=edit)
        self.at += 1
        name = _PARAMETER.match(self.text, self.at)
        if name is None:
            return LiteralPart("$", quoted)
        self.at = name.end()
        return VariablePart(name[0], quoted)

    def _closing(self, start: int) -> int:
        """Return the index of the parenthesis that closes the one before `start`."""
        depth, at = 1, start
        while at < len(self.text):
            mark = self.text[at]
            if mark in "'\"":
                at += 1
                while at < len(self.text) and self.text[at] != mark:
                    at += 2 if mark == '"' and self.text[at] == "\\" else 1
            elif mark == "#" and self.text[at - 1] in " \t\n;|&(":
                at = self._find("\n", at)
                continue
            depth += (mark == "(") - (mark == ")")
            if not depth:
                return at
            at += 2 if mark == "\\" else 1
        raise ShellSyntaxError("an unclosed (")


# The parser: tokens to syntax tree.
#
# Source of the rules: POSIX, Shell Command Language, 2.9 and 2.10.

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REDIRECTS = ("<", ">", ">>", ">&", "<<")
_ENDINGS = frozenset({"then", "elif", "else", "fi", "do", "done", "}", "esac"})
_REFUSED = frozenset({"case", "select", "[["})


def parse_script(text: str, depth: int = 0, *, bash: bool = False) -> Script:
    """Return the tree of a script; `depth` is the number of enclosing substitutions.

    Syntax that only bash has is read if `bash` is set. Raises ShellSyntaxError if the script cannot
    be parsed.
    """
    require_depth(depth)

    def inner(body: str) -> Script:
        return parse_script(body, depth + 1, bash=bash)

    parser = _ShellParser(_Lexer(text, inner, bash=bash).tokens(), bash=bash)
    script = parser.script()
    if not parser.at_end:
        raise parser.unexpected()
    return script


class _ShellParser:
    def __init__(self, tokens: list[ShellToken], *, bash: bool) -> None:
        self.tokens = tokens
        self.bash = bash
        self.at = 0
        self.depth = 0

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.tokens)

    def unexpected(self) -> ShellSyntaxError:
        """Return the error for an unexpected token or end."""
        return ShellSyntaxError(f"unexpected `{self._operator() or self._plain()}`")

    def _operator(self) -> str:
        return "" if self.at_end else self.tokens[self.at].operator

    def _plain(self) -> str:
        return "" if self.at_end else self.tokens[self.at].plain

    def _take(self) -> ShellToken:
        if self.at_end:
            raise ShellSyntaxError("unexpected end")
        self.at += 1
        return self.tokens[self.at - 1]

    def _expect(self, word: str) -> None:
        if self._plain() != word:
            raise ShellSyntaxError(f"there is no `{word}`")
        self.at += 1

    def _skip_lines(self) -> None:
        while self._operator() == "\n":
            self.at += 1

    def _skip_separator(self) -> None:
        if self._operator() == ";":
            self.at += 1
        self._skip_lines()

    def script(self) -> Script:
        """Return the commands up to a terminator; there may be none."""
        commands: list[AndOr] = []
        self._skip_lines()
        while not self.at_end and self._plain() not in _ENDINGS and self._operator() != ")":
            first = self._pipeline()
            rest: list[tuple[str, Pipeline]] = []
            while self._operator() in {"&&", "||"}:
                operator = self._take().operator
                self._skip_lines()
                rest.append((operator, self._pipeline()))
            commands.append(AndOr(first, tuple(rest)))
            if self._operator() == "&":
                self.at += 1
                commands[-1] = commands[-1]._replace(background=True)
                self._skip_lines()
                continue
            if self._operator() not in {";", "\n"}:
                break
            self._skip_separator()
        return tuple(commands)

    def _body(self) -> Script:
        """Return the commands in a compound command, of which there must be at least one."""
        commands = self.script()
        if not commands:
            raise self.unexpected()
        return commands

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
            word = self._plain()
            if word in _REFUSED:
                raise ShellSyntaxError(f"`{word}`")
            if word in _ENDINGS or word == "!":
                raise self.unexpected()
            if word == "if":
                return self._if()
            if word == "for":
                return self._for()
            if word in {"while", "until"}:
                until = self._take().plain == "until"
                return While(self._body(), self._do(), until, self._redirects())
            if word == "function" and self.bash:
                self.at += 1
                return self._function(self._take().plain)
            if word == "{":
                self.at += 1
                body = self._body()
                self._expect("}")
                return CommandGroup(body, own=False, redirects=self._redirects())
            if self._operator() == "(":
                self.at += 1
                body = self._body()
                if self._operator() != ")":
                    raise ShellSyntaxError("an unclosed (")
                self.at += 1
                return CommandGroup(body, own=True, redirects=self._redirects())
            return self._simple()
        finally:
            self.depth -= 1

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
            raise ShellSyntaxError("expected a variable name after `for`")
        self._expect("in")
        words: list[Word] = []
        while not self.at_end and not self._operator():
            words.append(self._take().word)
        self._skip_separator()
        return For(name, tuple(words), self._do(), self._redirects())

    def _do(self) -> Script:
        self._expect("do")
        body = self._body()
        self._expect("done")
        return body

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        while (operator := self._operator().lstrip("012")) in _REDIRECTS:
            token = self._take()
            if operator == "<<":
                redirects.append(Redirect(0, "<<", token.word))
                continue
            stream = token.operator[0]
            number = int(stream) if stream.isdigit() else 0 if operator == "<" else 1
            target = self._take()
            if target.operator:
                raise ShellSyntaxError(f"unexpected `{target.operator}`")
            redirects.append(Redirect(number, operator, target.word))
        return tuple(redirects)

    def _function(self, name: str) -> ShellFunction:
        """Return a function after its name: optional parentheses and a group."""
        if self._operator() == "(":
            self.at += 1
            if self._take().operator != ")":
                raise ShellSyntaxError("an unclosed (")
        self._skip_lines()
        if not _NAME.fullmatch(name) or (self._plain() != "{" and self._operator() != "("):
            raise ShellSyntaxError("a function without a name or a body")
        return ShellFunction(name, self._command())

    def _simple(self) -> Simple | ShellFunction:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            redirects += self._redirects()
            if self.at_end or self._operator():
                break
            word = self._take().word
            assigned = None if words else _assignment(word)
            if assigned is None:
                words.append(word)
            else:
                assignments.append(assigned)
        if self._operator() == "(" and len(words) == 1 and not assignments and not redirects:
            return self._function(ShellToken("", words[0]).plain)
        if not words and not assignments and not redirects:
            raise self.unexpected()
        return Simple(tuple(assignments), tuple(words), tuple(redirects))


def _assignment(word: Word) -> tuple[str, Word] | None:
    first = word[0] if word else None
    if not isinstance(first, LiteralPart) or first.quoted:
        return None
    match = _ASSIGNMENT.fullmatch(first.text)
    if match is None:
        return None
    rest = (LiteralPart(match[2], quoted=False),) if match[2] else ()
    return match[1], (*rest, *word[1:])
