"""The regular expressions of grep, evaluated by RE2 in linear time.

Source of the rules: POSIX, Base Definitions, 9 (basic and extended expressions), and the extensions
of GNU grep. Other syntax of RE2, such as `(?i)` or `*?`, has a different meaning in grep.
"""

import re
from typing import Any

import re2

from kyvsim.chainsaw.errors import HardError, UnsupportedError
from kyvsim.kubernetes.regexes import as_bytes

_MAX_MEMORY = 16 << 20
_MOST_CHARACTERS = 4_000
_MOST_GROUPS = 100
_DIGITS = 4
_INTERVAL = re.compile(r"\{(\d*)(,?)(\d*)\}")
_BASIC_INTERVAL = re.compile(r"\\\{(\d*)(,?)(\d*)\\\}")
_CLASSES = frozenset(
    {"alnum", "alpha", "blank", "cntrl", "digit", "graph"}
    | {"lower", "print", "punct", "space", "upper", "xdigit"}
)
_OF_GNU = {"<": r"\b", ">": r"\b"} | {mark: f"\\{mark}" for mark in "wWsSbB"}


class PatternError(Exception):
    """A pattern that grep rejects; the text is its message."""


def compile_pattern(text: str, flags: str) -> Any:
    """Return a compiled grep pattern; raise PatternError if it is invalid.

    Raises HardError for back references, and UnsupportedError for other features that RE2 lacks.
    Each line of the pattern is an alternative. `flags` are those of grep: E, F, i, w, x.
    """
    if len(text) > _MOST_CHARACTERS:
        raise UnsupportedError(f"a pattern of more than {_MOST_CHARACTERS:,} characters")
    lines = text.split("\n")
    if "F" in flags:
        alternatives = [re2.escape(line) for line in lines]
    else:
        alternatives = [_Translation(line, extended="E" in flags).text() for line in lines]
    whole = "|".join(f"(?:{line})" for line in alternatives)
    if "x" in flags:
        whole = f"^(?:{whole})$"
    elif "w" in flags:
        whole = rf"(?:^|\W)(?:{whole})(?:\W|$)"
    try:
        return compile_regex(whole, case_sensitive="i" not in flags)
    except re2.error as error:
        detail = error.args[0] if error.args else ""
        message = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        if "range" in message:
            raise PatternError("Invalid range end") from None
        raise UnsupportedError(f"the pattern `{text}` of grep: {message}") from None


def compile_regex(text: str, *, case_sensitive: bool = True) -> Any:
    """Return a compiled expression of RE2, which finds the longest match; raises re2.error."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    options.longest_match = True
    options.case_sensitive = case_sensitive
    return re2.compile(as_bytes(text), options)


class _Translation:
    def __init__(self, source: str, *, extended: bool) -> None:
        self.source = source
        self.extended = extended
        self.at = 0
        self.pieces: list[str] = []
        self.atom = -1
        """The index in `pieces` of the last repeatable atom; -1 if there is none."""
        self.opened: list[int] = []
        self.groups = 0

    def text(self) -> str:
        """Return the translated pattern; raise PatternError if it is invalid."""
        while self.at < len(self.source):
            mark = self.source[self.at]
            if mark == "\\":
                self._escape()
            elif mark == "[":
                self._bracket()
            elif mark == "*" or (self.extended and mark in "+?"):
                self.at += 1
                self._repeat(mark)
            elif self.extended and mark in "()|":
                self.at += 1
                self._structure(mark)
            elif self.extended and mark == "{":
                self._interval(_INTERVAL)
            elif mark == "." or (mark in "^$" and self._is_anchor(mark)):
                self.at += 1
                self._add(mark, repeats=mark == ".")
            else:
                self.at += 1
                self._add(re2.escape(mark))
        if self.opened:
            raise PatternError("Unmatched ( or \\(")
        return "".join(self.pieces)

    def _unsupported(self) -> UnsupportedError:
        return UnsupportedError(f"the pattern `{self.source}` of grep")

    def _add(self, text: str, *, repeats: bool = True) -> None:
        self.atom = len(self.pieces) if repeats else -1
        self.pieces.append(text)

    def _is_anchor(self, mark: str) -> bool:
        """Return whether `^` or `$` is an anchor: in basic expressions only at either end."""
        if self.extended:
            return True
        before, after = self.source[: self.at], self.source[self.at + 1 :]
        if mark == "^":
            return not before or before.endswith(("\\(", "\\|"))
        return not after or after.startswith(("\\)", "\\|"))

    def _escape(self) -> None:
        following = self.source[self.at + 1 : self.at + 2]
        if not following:
            raise PatternError("Trailing backslash")
        if not self.extended and following == "{":
            self._interval(_BASIC_INTERVAL)
            return
        self.at += 2
        if following.isdigit() and following != "0":
            raise HardError(
                f"the back reference `\\{following}` in the pattern `{self.source}`: patterns "
                "are evaluated in linear time, without back references"
            )
        if not self.extended and following in "()|":
            self._structure(following)
        elif not self.extended and following in "+?":
            self._repeat(following)
        elif following in _OF_GNU:
            self._add(_OF_GNU[following], repeats=following in "wWsS")
        elif following.isalnum() or following in "`'":
            raise self._unsupported()
        else:
            self._add(re2.escape(following))

    def _structure(self, mark: str) -> None:
        if mark == "(":
            self.groups += 1
            if self.groups > _MOST_GROUPS:
                raise self._unsupported()
            self.opened.append(len(self.pieces))
            self._add("(?:", repeats=False)
        elif mark == "|":
            self._add("|", repeats=False)
        elif self.opened:
            start = self.opened.pop()
            self.pieces.append(")")
            self.atom = start
        elif self.extended:
            # In GNU grep an unmatched `)` is a literal.
            self._add(r"\)")
        else:
            raise PatternError("Unmatched ) or \\)")

    def _repeat(self, mark: str) -> None:
        if self.atom < 0:
            if self.extended and not self.source[: self.at - 1].rstrip("^(|"):
                # GNU grep ignores a repetition of nothing.
                return
            self._add(re2.escape(mark))
            return
        self._repeated(mark)

    def _repeated(self, mark: str) -> None:
        """Repeat the last atom in a group, so that `a*?` is an optional `a*`."""
        whole = "".join(self.pieces[self.atom :])
        del self.pieces[self.atom :]
        self.pieces.append(f"(?:{whole}{mark})")

    def _interval(self, form: re.Pattern[str]) -> None:
        match = form.match(self.source, self.at)
        if match is None or not (match[1] or match[2]):
            if not self.extended:
                raise PatternError("Invalid content of \\{\\}")
            self.at += 1
            self._add(r"\{")
            return
        if len(match[1]) > _DIGITS or len(match[3]) > _DIGITS:
            raise self._unsupported()
        self.at = match.end()
        if self.atom < 0:
            raise self._unsupported()
        if match[3] and int(match[1] or 0) > int(match[3]):
            raise PatternError("Invalid content of \\{\\}")
        self._repeated(f"{{{match[1] or 0}{match[2]}{match[3]}}}")

    def _bracket(self) -> None:
        """Add a bracket expression; in it a backslash is literal and `]` may be the first."""
        at = self.at + 1
        negated = self.source[at : at + 1] == "^"
        at += negated
        parts: list[str] = []
        while True:
            mark = self.source[at : at + 1]
            if not mark:
                raise PatternError("Unmatched [, [^, [:, [., or [=")
            if mark == "]" and parts:
                break
            if self.source[at : at + 2] == "[:":
                end = self.source.find(":]", at + 2)
                name = self.source[at + 2 : end]
                if end < 0 or name not in _CLASSES:
                    raise PatternError("Invalid character class name")
                parts.append(f"[:{name}:]")
                at = end + 2
                continue
            if self.source[at : at + 2] in {"[.", "[="}:
                raise self._unsupported()
            dash = mark == "-" and parts and self.source[at + 1 : at + 2] not in {"]", ""}
            parts.append("-" if dash else re2.escape(mark))
            at += 1
        self.at = at + 1
        self._add(f"[{'^' if negated else ''}{''.join(parts)}]")
