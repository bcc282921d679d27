"""Variables and functions of CEL by library, with the kinds that know them."""

import importlib
import pkgutil

from kyvsim.api.cel import EXPRESSION_KINDS, signatures, variables
from kyvsim.api.system import own_system
from kyvsim.cel import kyverno, libraries
from kyvsim.cel.environment import Library, signature
from kyvsim.cel.kyverno.functions import random_library, time_library

KINDS = [kind for kind in EXPRESSION_KINDS if not kind.startswith("Namespaced")]
"""A Namespaced kind knows what its twin knows."""
TITLES = {
    "authorizer": "Access of a user",
    "encoders": "Base64",
    "format": "Named formats of strings",
    "lists": "Lists",
    "kubernetes lists": "Lists",
    "math": "Numbers",
    "jsonpatch": "JSON patches",
    "net": "IP addresses and networks",
    "optionals": "Optional values",
    "quantity": "Quantities",
    "regex": "Regular expressions",
    "regex groups": "Regular expressions with groups",
    "semver": "Semantic versions",
    "sets": "Sets",
    "standard": "Sizes",
    "strings": "Strings",
    "times": "Times and durations",
    "url": "URLs",
    "envoy authorization": "Envoy requests",
    "generator": "Generated objects",
    "global context": "Data of GlobalContextEntries",
    "gzip": "Compression",
    "hash": "Digests",
    "http": "HTTP calls",
    "http authorization": "HTTP requests",
    "image data": "Image metadata",
    "image verification": "Image verification",
    "images": "Image references",
    "json": "JSON",
    "authorization json": "JSON",
    "mcp": "Requests of the Model Context Protocol",
    "random": "Random strings",
    "resources": "Objects of the cluster",
    "rounding": "Rounding",
    "time": "The current time",
    "transform": "Transformations",
    "users": "Service accounts",
    "x509": "Certificates",
    "yaml": "YAML",
}
"""Titles of the libraries, by name, in the order of the page."""
HEAD = "| {} | known to |\n| --- | --- |\n"


def libraries_of(package):
    """Yield the libraries of a package."""
    for found in pkgutil.iter_modules(package.__path__):
        if found.name in {"authorization", "environments"}:  # they put others together
            continue
        module = importlib.import_module(f"{package.__name__}.{found.name}")
        own = [one for one in vars(module).values() if isinstance(one, Library)]
        yield from own


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
    system = own_system()
    found = [*libraries_of(libraries), *libraries_of(kyverno)]
    found += [random_library(system.entropy), time_library(system.clock)]
    for name, title in TITLES.items():
        for library in (one for one in found if one.name == name):
            texts = dict.fromkeys(
                signature(function.name, way)
                for function in library.functions
                for way in function.overloads
                if function.name[0].isalpha() and "@" not in function.name
            )
            own = {text: [kind for kind in KINDS if text in ways[kind]] for text in texts}
            heading = f"{title} ({name})"
            parts[heading] = parts.get(heading, "") or table("function", own)
    return "\n".join(f"## {name}\n\n{text}" for name, text in parts.items() if text)
