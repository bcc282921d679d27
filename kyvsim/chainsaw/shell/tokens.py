"""Text of a script → tokens: words in their parts, operators, line ends.

Source of the rules: POSIX, Shell Command Language, 2.2 and 2.3.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from kyvsim.chainsaw.shell.syntax import Part, Script, Substitution, Text, Variable, Word

_BLANK = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_OPERATOR = re.compile(r"(?:[012]?(?:>&|>>|<<-?|>|<))|&&|\|\||;;|[;|&()\n]")
_OTHER_STREAM = re.compile(r"(?:[3-9]|[0-9]{2,})[<>]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9?#@*!$-]")
_PLAIN = re.compile(r"[^\s\\'\"$`;|&()<>]+")
_DOUBLE = re.compile(r'[^\\"$`]+')
_ESCAPED_IN_DOUBLE = '$`"\\'


class ShellSyntaxError(Exception):
    """A script that is none, or that has more than is understood; the text says which."""


class Token(NamedTuple):
    """An operator, or a word."""

    operator: str
    """"" for a word."""
    word: Word = ()
    body: str = ""
    """The text of a here-document."""

    @property
    def plain(self) -> str:
        """The text of a word without quotes and variables, else ""."""
        only = self.word[0] if len(self.word) == 1 else None
        return only.text if isinstance(only, Text) and not only.quoted else ""


def tokenize(text: str, parse: Callable[[str], Script]) -> list[Token]:
    """Return the tokens; `parse` is what reads scripts inside of words."""
    return _Lexer(text, parse).tokens()


class _Lexer:
    def __init__(self, text: str, parse: Callable[[str], Script]) -> None:
        self.text = text
        self.at = 0
        self.parse = parse
        self.waiting: list[tuple[int, str, bool]] = []

    def tokens(self) -> list[Token]:
        found: list[Token] = []
        while True:
            self.at = self._match(_BLANK).end()
            if self.at >= len(self.text):
                return [*found, Token("\n")]
            operator = _OPERATOR.match(self.text, self.at)
            if operator is None:
                if _OTHER_STREAM.match(self.text, self.at):
                    raise ShellSyntaxError("a redirection of another stream than 0, 1 and 2")
                found.append(Token("", self._word()))
                continue
            self.at = operator.end()
            if operator[0].lstrip("012").startswith("<<"):
                found.append(self._here_document(len(found), operator[0]))
                continue
            found.append(Token(operator[0]))
            if operator[0] == "\n":
                self._bodies(found)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise ShellSyntaxError("unexpected end")
        return found

    def _here_document(self, place: int, operator: str) -> Token:
        self.at = self._match(_BLANK).end()
        word = self._word()
        if not word:
            raise ShellSyntaxError("a here-document without its end")
        if not all(isinstance(part, Text) for part in word):
            raise ShellSyntaxError("a here-document whose end is no plain word")
        end = "".join(part.text for part in word if isinstance(part, Text))
        expands = not any(isinstance(part, Text) and part.quoted for part in word)
        self.waiting.append((place, f"{'-' if operator.endswith('-') else ''}{end}", expands))
        return Token("<<")

    def _bodies(self, found: list[Token]) -> None:
        """Read the here-documents that were asked for on the line that has just ended."""
        for place, end, expands in self.waiting:
            lines: list[str] = []
            stripped = end.startswith("-")
            wanted = end.removeprefix("-")
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                line = line.lstrip("\t") if stripped else line
                if line == wanted:
                    break
                lines.append(f"{line}\n")
            body = "".join(lines)
            word = _Lexer(body, self.parse).quoted_text() if expands else (Text(body, quoted=True),)
            found[place] = Token("<<", word)
        self.waiting = []

    def quoted_text(self) -> Word:
        """Return the whole text as it reads between double quotes, in which `"` is plain."""
        parts: list[Part] = []
        while self.at < len(self.text):
            if self.text[self.at] == '"':
                self.at += 1
                parts.append(Text('"', quoted=True))
            else:
                parts.append(self._part_in_double())
        return tuple(parts)

    def _word(self) -> Word:
        parts: list[Part] = []
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                self.at = plain.end()
                parts.append(Text(plain[0], quoted=False))
                continue
            if self.text[self.at] not in "\\'\"$`":
                break
            parts += self._special()
        return _joined(parts)

    def _special(self) -> list[Part]:
        start = self.text[self.at]
        if start == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            # At the end of a script a backslash stands for itself.
            return [] if following == "\n" else [Text(following or "\\", quoted=True)]
        if start == "'":
            end = self._find("'", self.at + 1)
            inner = self.text[self.at + 1 : end]
            self.at = end + 1
            return [Text(inner, quoted=True)]
        if start == '"':
            return self._double()
        return [self._dollar(quoted=False)]

    def _find(self, mark: str, start: int) -> int:
        end = self.text.find(mark, start)
        if end < 0:
            raise ShellSyntaxError(f"a {mark} without its end")
        return end

    def _double(self) -> list[Part]:
        self.at += 1
        parts: list[Part] = [Text("", quoted=True)]
        while self.at < len(self.text):
            if self.text[self.at] == '"':
                self.at += 1
                return parts
            parts.append(self._part_in_double())
        raise ShellSyntaxError('a " without its end')

    def _part_in_double(self) -> Part:
        plain = _DOUBLE.match(self.text, self.at)
        if plain:
            self.at = plain.end()
            return Text(plain[0], quoted=True)
        if self.text[self.at] != "\\":
            return self._dollar(quoted=True)
        following = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if following == "\n":
            return Text("", quoted=True)
        return Text(following if following in _ESCAPED_IN_DOUBLE else f"\\{following}", quoted=True)

    def _dollar(self, *, quoted: bool) -> Part:
        if self.text[self.at] == "`":
            end = self._find("`", self.at + 1)
            body = self.text[self.at + 1 : end]
            self.at = end + 1
            return Substitution(self.parse(body), quoted)
        if self.text.startswith("$((", self.at):
            raise ShellSyntaxError("arithmetic `$((…))`")
        if self.text.startswith("$(", self.at):
            end = self._closing(self.at + 2)
            body = self.text[self.at + 2 : end]
            self.at = end + 1
            return Substitution(self.parse(body), quoted)
        if self.text.startswith("${", self.at):
            return self._braced(quoted=quoted)
        self.at += 1
        name = _NAME.match(self.text, self.at)
        if name is None:
            return Text("$", quoted)
        self.at = name.end()
        return Variable(name[0], quoted)

    def _braced(self, *, quoted: bool) -> Part:
        end = self._find("}", self.at)
        inner = self.text[self.at + 2 : end]
        self.at = end + 1
        name, mark, fallback = inner.partition(":-")
        if _NAME.fullmatch(name) is None:
            raise ShellSyntaxError(f"`${{{inner}}}`")
        if not mark:
            return Variable(name, quoted)
        if any(one in fallback for one in "'\"\\"):
            # Shells read quotes differently there, within quotes and without.
            raise ShellSyntaxError(f"quotes in `${{{inner}}}`")
        return Variable(name, quoted, _Lexer(fallback, self.parse).quoted_text())

    def _closing(self, start: int) -> int:
        """Return where the parenthesis closes that is open before `start`."""
        depth, at = 1, start
        while at < len(self.text):
            mark = self.text[at]
            if mark in "'\"":
                at = self._end_of_quote(at)
            elif mark == "#" and self.text[at - 1] in " \t\n;|&(":
                at = self._find("\n", at)
                continue
            depth += (mark == "(") - (mark == ")")
            if not depth:
                return at
            at += 2 if mark == "\\" else 1
        raise ShellSyntaxError("a ( without its end")

    def _end_of_quote(self, at: int) -> int:
        mark = self.text[at]
        at += 1
        while at < len(self.text) and self.text[at] != mark:
            at += 2 if mark == '"' and self.text[at] == "\\" else 1
        return at


def _joined(parts: list[Part]) -> Word:
    """Return the parts with neighbouring plain texts as one."""
    found: list[Part] = []
    texts: list[str] = []
    for place, part in enumerate(parts):
        if not isinstance(part, Text):
            found.append(part)
            continue
        texts.append(part.text)
        following = parts[place + 1] if place + 1 < len(parts) else None
        if not isinstance(following, Text) or following.quoted != part.quoted:
            found.append(Text("".join(texts), part.quoted))
            texts = []
    return tuple(found)
