"""The syntax tree of scripts."""

from typing import NamedTuple, TypeAlias, Union


class Text(NamedTuple):
    """A part of a word that stands for itself."""

    text: str
    quoted: bool


class Variable(NamedTuple):
    """`$name`, or `${name:-fallback}`."""

    name: str
    quoted: bool
    fallback: "Word | None" = None


class Substitution(NamedTuple):
    """`$(script)`."""

    body: "Script"
    quoted: bool


Part: TypeAlias = Text | Variable | Substitution
Word: TypeAlias = tuple[Part, ...]


class Redirect(NamedTuple):
    """Where a stream goes to or comes from."""

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
    """Commands that pass on what they print."""

    commands: tuple["Command", ...]
    negated: bool


class AndOr(NamedTuple):
    """Pipelines, each but the first run as the ones before it ended: after `&&` or `||`."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]


class If(NamedTuple):
    """Conditions and what follows each, and what follows none."""

    branches: tuple[tuple["Script", "Script"], ...]
    otherwise: "Script"
    redirects: tuple[Redirect, ...]


class For(NamedTuple):
    """A body for each word."""

    name: str
    words: tuple[Word, ...]
    body: "Script"
    redirects: tuple[Redirect, ...]


class While(NamedTuple):
    """A body as long as a condition succeeds, or fails."""

    condition: "Script"
    body: "Script"
    until: bool
    redirects: tuple[Redirect, ...]


class Group(NamedTuple):
    """`{ … }`, or `( … )` whose variables stay its own."""

    body: "Script"
    own: bool
    redirects: tuple[Redirect, ...]


Command: TypeAlias = Union[Simple, If, For, While, Group]  # noqa: UP007 — names that come later
Script: TypeAlias = tuple[AndOr, ...]
