"""What comes together while a rule is converted: variables of the new policy, and conditions."""

from typing import Final, NamedTuple

from kyvsim.model.migration import Condition, Note
from kyvsim.model.source import Path

_NOT_NAMES: Final = frozenset(
    (  # noqa: SIM905 — a list of words
        "as break const continue else for function if import let loop package namespace return var"
        " void while in true false null object oldObject request variables resource"
        " namespaceObject images image exceptions http json yaml time random map string int double"
        " bool bytes type list duration timestamp size has all exists filter quantity"
    ).split()
)
"""Words that CEL keeps for itself, and names that a policy's expressions have already."""


class Desk(NamedTuple):
    """Where emitters put what a policy needs beside the expression that they return."""

    variables: dict[str, str]
    """The texts of variables by name, in order."""
    notes: list[Note]
    offered: set[str]
    """Names of variables that are left out where nothing reads them."""
    path: Path = ()
    """Where in the policy's document the part at hand stands."""

    def at(self, *steps: str | int) -> "Desk":
        """Return the same desk for a part further down."""
        return self._replace(path=(*self.path, *steps))

    def note(self, condition: Condition) -> None:
        """Write down that something holds under a condition only."""
        one = Note(condition, self.path)
        if one not in self.notes:
            self.notes.append(one)

    def offer(self, name: str, text: str) -> str:
        """Return the same as `variable`, for one that is left out where nothing reads it."""
        found = self.variable(name, text)
        self.offered.add(found.removeprefix("variables."))
        return found

    def keep(self, name: str, text: str) -> None:
        """Take over a variable of a policy as it is."""
        self.variables[name] = text
        self.offered.discard(name)

    def variable(self, name: str, text: str) -> str:
        """Return the expression of a variable with this text; one that is there serves again."""
        for known, other in self.variables.items():
            if other == text:
                return f"variables.{known}"
        free = name
        number = 2
        while free in self.variables:
            free, number = f"{name}{number}", number + 1
        self.variables[free] = text
        return f"variables.{free}"


def name_for_element(noun: str, taken: frozenset[str]) -> str:
    """Return a name for the elements of what is called `noun`, and none that is taken."""
    name = _singular(noun[:1].lower() + noun[1:])
    name = "item" if name in _NOT_NAMES else name
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _singular(noun: str) -> str:
    word = "".join(one for one in noun if one.isascii() and one.isalnum())
    if not word or not word[0].isalpha():
        return "item"
    if word.lower().endswith("containers"):
        return "container"
    if word == "env":
        return "variable"
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches")):
        return word[:-2]
    plural = word.endswith("s") and not word.endswith("ss")
    return word[:-1] if plural and len(word) > 2 else "item"
