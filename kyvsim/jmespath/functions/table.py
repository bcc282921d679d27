"""The table of functions that calls look in: every family, where it is, and when it is loaded.

The functions of the standard are at hand. Most policies call no others, and their modules take as
long to load as the rest of this package: they are imported with the first call of one.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from kyvsim.jmespath.functions import Function
from kyvsim.jmespath.functions.standard import STANDARD

FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Standard JMESPath functions": "standard.STANDARD",
        "Strings": "strings.FUNCTIONS",
        "Regular expressions": "strings.REGEXES",
        "Arithmetic": "arithmetic.FUNCTIONS",
        "Lists and maps": "containers.CONTAINERS",
        "Encoding and decoding": "strings.ENCODING",
        "Hashes": "strings.HASHES",
        "Sorting": "containers.ORDERING",
        "Time": "timestamps.FUNCTIONS",
        "Images, versions and URLs": "references.FUNCTIONS",
        "Random strings": "strings.RANDOMNESS",
        "Certificates": "strings.CERTIFICATES",
    }
)
"""Every family by its title, with the module and the name of its tuple; no name is in two."""

_AT_HAND: Final[Mapping[str, Function]] = MappingProxyType({one.name: one for one in STANDARD})


def family(title: str) -> tuple[Function, ...]:
    """Return the functions of a family, whose module is imported."""
    module, name = FAMILIES[title].split(".")
    found: tuple[Function, ...] = getattr(
        import_module(f"kyvsim.jmespath.functions.{module}"), name
    )
    return found


@lru_cache(maxsize=1)
def functions() -> Mapping[str, Function]:
    """Return every function by its name."""
    return MappingProxyType({one.name: one for title in FAMILIES for one in family(title)})


def function_named(name: str) -> Function | None:
    """Return the function of a name, or None."""
    return _AT_HAND.get(name) or functions().get(name)
