"""Variables and functions of CEL by library, with the kinds that know them."""

import importlib
import pkgutil
import re

from kyvsim.api.cel import EXPRESSION_KINDS, signature, signatures, variables
from kyvsim.api.system import own_system
from kyvsim.cel import kyverno, libraries
from kyvsim.cel.environment import Library
from kyvsim.cel.kyverno.functions import random_library, time_library

KINDS = [kind for kind in EXPRESSION_KINDS if not kind.startswith("Namespaced")]
"""A Namespaced kind knows what its twin knows."""
HEAD = "| {} | known to |\n| --- | --- |\n"


def libraries_of(package):
    """Yield what each library of a package is, and the library."""
    system = own_system()
    made_by = {"random": [random_library(system.entropy)], "time": [time_library(system.clock)]}
    for found in pkgutil.iter_modules(package.__path__):
        if found.name in {"authorization", "environments"}:  # they put others together
            continue
        module = importlib.import_module(f"{package.__name__}.{found.name}")
        own = [one for one in vars(module).values() if isinstance(one, Library)]
        name = re.split(r"\.\s|[:,]| where ", module.__doc__.replace("`", ""))[0].strip()
        for library in made_by.get(found.name, own):
            yield f"{name} ({library.name})", library


def known(names, all_of):
    """Return which kinds know a name, in the fewest words."""
    missing = [kind for kind in KINDS if kind not in names]
    if not missing:
        return "all kinds"
    if len(missing) < len(all_of) / 2:
        return "all but " + ", ".join(missing)
    return ", ".join(names)


def variable(named):
    """Return a variable with its type; of constants that are told by a prefix only that."""
    name, found = named
    prefix, dot, _ = name.rpartition(".")
    return (f"{prefix}.…" if dot else name), found


def table(head, knowers):
    rows = [f"| `{text}` | {known(kinds, KINDS)} |" for text, kinds in knowers.items() if kinds]
    return HEAD.format(head) + "\n".join(rows) + "\n" if rows else ""


def made():
    """Return the tables, one for the variables and one for each library, as Markdown."""
    names = {kind: dict(map(variable, variables(kind).items())) for kind in KINDS}
    ways = {kind: {way for _, found in signatures(kind) for way in found} for kind in KINDS}
    given = dict.fromkeys(one for kind in KINDS for one in names[kind].items())
    knowers = {
        f"{name}: {found}": [kind for kind in KINDS if names[kind].get(name) == found]
        for name, found in given
    }
    parts = {"Variables": table("variable", knowers)}
    for package in (libraries, kyverno):
        for name, library in libraries_of(package):
            texts = dict.fromkeys(
                signature(function.name, way)
                for function in library.functions
                for way in function.overloads
                if function.name[0].isalpha() and "@" not in function.name
            )
            own = {text: [kind for kind in KINDS if text in ways[kind]] for text in texts}
            parts[name] = parts.get(name, "") or table("function", own)
    return "\n".join(f"## {name}\n\n{text}" for name, text in parts.items() if text)
