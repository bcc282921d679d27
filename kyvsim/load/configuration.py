"""A project's configuration: `.kyvsim.yaml`, or the table `tool.kyvsim` of pyproject.toml.

Codes: KV058 a discovered configuration that may be somebody else's, KV094 a configuration that
cannot be read.
"""

import os
from collections.abc import Callable, Mapping

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.project_file import TABLE, ConfigurationFiles, distrusted
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location, Path


class Configuration(NamedTuple):
    """What a configuration says, as it is written."""

    file: str
    data: Mapping[str, Json]
    locate: Callable[[Path], Location]
    named: bool = True
    """Whether the user named it, rather than kyvsim discovering it."""

    @property
    def folder(self) -> str:
        """The folder to which its paths are relative, as seen from the working folder."""
        return os.path.dirname(self.file)


Found = tuple[Configuration | None, tuple[Diagnostic, ...]]


def read_configuration(files: ConfigurationFiles) -> Found:
    """Return what a file says, None where it cannot be used, and what is wrong with it.

    Two files of one folder are wrong: which of them counts would be a guess.
    """
    file = files.paths[0]
    why = "" if files.named else distrusted(file)
    if why:
        text = f"not used: {why}; name it with --config {file}, or pass --no-config"
        return None, (Diagnostic("KV058", Severity.ERROR, text, Location(file)),)
    if len(files.paths) > 1:
        text = f"{files.paths[1]} has a table [{'.'.join(TABLE)}] too: keep one of both"
        return None, (_unusable(text, Location(file)),)
    found, remarks = _from_toml(file) if file.endswith(".toml") else _from_yaml(file)
    return found and found._replace(named=files.named), remarks


def _from_yaml(file: str) -> Found:
    documents, remarks = read_documents((file,), None, STRICT)
    if any(one.severity is Severity.ERROR for one in remarks):
        return None, remarks
    if len(documents) != 1 or documents[0].data.__class__ is not dict:
        return None, (_unusable("a configuration is one map", Location(file)),)
    return Configuration(file, documents[0].data, documents[0].locate), ()


def _unusable(text: str, place: Location) -> Diagnostic:
    return Diagnostic("KV094", Severity.ERROR, text, place)


def _from_toml(file: str) -> Found:
    import tomllib  # noqa: PLC0415 — where a project has our table only

    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        data = tomllib.loads(text)
    except (OSError, ValueError) as error:
        return None, (_unusable(f"cannot be read: {error}", Location(file)),)
    for name in TABLE:
        data = data.get(name, {})
        if not isinstance(data, dict):
            return None, (_unusable(f"`{name}` must be a table", _in_toml(file, text, ())),)
    return Configuration(file, data, lambda path: _in_toml(file, text, path)), ()


def _in_toml(file: str, text: str, path: Path) -> Location:
    """Return the line of a key, or of its table: what is written on a line of its own."""
    wanted = [*TABLE, *(part for part in path if isinstance(part, str))]
    table: list[str] = []
    found = Location(file)
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        column = line.find(bare) + 1
        if bare.startswith("["):
            table = [part.strip(" \"'") for part in bare.split("]")[0].strip("[ ").split(".")]
            if table == wanted[: len(table)] and len(table) >= len(TABLE):
                found = Location(file, number, column)
        elif [*table, bare.partition("=")[0].strip(" \"'")] == wanted:
            return Location(file, number, column)
    return found
