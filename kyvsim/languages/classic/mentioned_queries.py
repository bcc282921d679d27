"""What queries in JMESPath mention: the fields that they read, the constants beside them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar

from kyvsim.jmespath import QuerySyntaxError
from kyvsim.jmespath.parse import Tree, parse
from kyvsim.jmespath.variables import find_variables
from kyvsim.languages.mentioned import NOTHING, Notebook, Reading, either, endings
from kyvsim.model.policy import Hole

_WORD = "x"
_ACCOUNT = frozenset({"serviceAccountName", "serviceAccountNamespace"})
"""What rules know of who sends a request, where that is a ServiceAccount."""
_BOOLEAN = frozenset({"comparator", "not_expression"})
_MOST_WAYS = 64
"""So many ways of one reading are told apart: lists in lists have twice as many each time."""


class Queries:
    """Reads the queries of one rule; entries of its context and elements of loops have names."""

    def __init__(self, notes: Notebook) -> None:
        self.notes = notes
        self.named: dict[str, Reading] = {}
        """What names stand for that a rule gives."""
        self._words: dict[str, Reading] = {}
        """What words stand for that are read in place of variables."""

    def text(self, text: str) -> Reading:
        """Read the variables `{{ }}` of a text; a text around them is no value of its own."""
        found: list[Reading] = []
        text = self._with_words(text, found)
        return either(found) if found else Reading(values=(text,))

    def _with_words(self, text: str, found: list[Reading]) -> str:
        """Return a text with a word in place of each variable, of which `found` gets the reading.

        What stands around a variable inside another one is read with that.
        """
        while variables := find_variables(text):
            for one in variables:
                reading = self.query(one.expression)
                found.append(reading)
                word = _WORD if one is variables[0] else f"{_WORD}{len(found)}"
                self._words[word] = reading
                # Between backticks there is JSON.
                text = text.replace(f"`{one.text}`", f'`"{word}"`').replace(one.text, word)
        return text

    def query(self, expression: str) -> Reading:
        """Read a query; NOTHING for one that cannot be parsed, as others inside it make it."""
        return self.query_of(expression, Reading(((),)))

    def query_of(self, expression: str, here: Reading) -> Reading:
        """Read a query of something that is not all that the rule knows."""
        try:
            tree = parse(self._with_words(expression, []))
        except QuerySyntaxError:
            return NOTHING
        return self._read(tree, here)

    def _read(self, tree: Tree, here: Reading) -> Reading:
        reader = self._READERS.get(tree["type"])
        return reader(self, tree, here) if reader else self._every(tree, here)

    def _every(self, tree: Tree, here: Reading) -> Reading:
        parts = [self._read(one, here) for one in tree["children"] if one.__class__ is dict]
        if tree["type"] not in _BOOLEAN:
            return either(parts)
        for one in parts:
            self.notes.read(one)
        if tree["type"] == "comparator":
            self.notes.compare(*parts)
        return NOTHING

    def _field(self, tree: Tree, here: Reading) -> Reading:
        name = str(tree["value"])
        if here.ways == ((),) and name in self.named:
            return self.named[name]
        if here.ways == ((),) and name in _ACCOUNT:
            return Reading((("request", name),))
        return here.below(name)

    def _current(self, _: Tree, here: Reading) -> Reading:
        return here

    def _literal(self, tree: Tree, _: Reading) -> Reading:
        value = tree["value"]
        if value.__class__ is str and value in self._words:
            return self._words[value]
        if value.__class__ is list:
            return Reading(values=tuple(value))
        return Reading(values=(value,))

    def _chain(self, tree: Tree, here: Reading) -> Reading:
        for one in tree["children"]:
            here = self._read(one, here)
        return here

    def _index(self, _: Tree, here: Reading) -> Reading:
        return here.elements

    def _flatten(self, tree: Tree, here: Reading) -> Reading:
        found = self._chain(tree, here)
        if not found.spread or len(found.ways) > _MOST_WAYS:
            return found
        # What is found in each of several elements may be a list itself, or not.
        both = [found.below(Hole.ELEMENT), found]
        is_chosen = tree["children"][0]["type"] == "filter_projection"
        return either(both[::-1] if is_chosen else both)._replace(spread=True)

    def _projection(self, tree: Tree, here: Reading) -> Reading:
        left, right = tree["children"]
        elements = self._read(left, here)
        # A slice is written as an index already.
        if not (left["type"] == "index_expression" and left["children"][-1]["type"] == "slice"):
            elements = elements.elements
        return self._read(right, elements)._replace(spread=True)

    def _values(self, tree: Tree, here: Reading) -> Reading:
        left, right = tree["children"]
        return self._read(right, self._read(left, here).below(Hole.KEY))._replace(spread=True)

    def _filter(self, tree: Tree, here: Reading) -> Reading:
        left, right, test = tree["children"]
        elements = self._read(left, here).elements
        self.notes.read(self._read(test, elements))
        return self._read(right, elements)._replace(spread=True)

    def _call(self, tree: Tree, here: Reading) -> Reading:
        plain = [one for one in tree["children"] if one["type"] != "expref"]
        given = [self._read(one, here) for one in plain]
        whole = either(map(endings, given) if tree["value"] == "ends_with" else given)
        self.notes.read(whole)
        if tree["value"] == "keys":
            for way in whole.ways:
                self.notes.read(Reading(((*way, Hole.KEY),)))
        for one in tree["children"]:
            if one["type"] == "expref":
                whole = either((whole, self._every(one, whole.elements)))
        return whole._replace(counts=True) if tree["value"] == "length" else whole

    _READERS: ClassVar[Mapping[str, Callable[["Queries", Tree, Reading], Reading]]] = (
        MappingProxyType(
            {
                "field": _field,
                "current": _current,
                "identity": _current,
                "literal": _literal,
                "subexpression": _chain,
                "index_expression": _chain,
                "pipe": _chain,
                "index": _index,
                "slice": _index,
                "flatten": _flatten,
                "projection": _projection,
                "value_projection": _values,
                "filter_projection": _filter,
                "function_expression": _call,
            }
        )
    )
