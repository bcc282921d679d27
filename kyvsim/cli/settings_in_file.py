"""What a project's configuration sets for a command.

Codes: KV095 a key or variable that sets nothing, KV096 a value that does not fit its key.
"""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.cli.commands import COMMANDS, every_command
from kyvsim.cli.declared import (
    NO,
    YES,
    Command,
    Output,
    Parameter,
    PathText,
    Setting,
    Settled,
    is_flag,
)
from kyvsim.cli.discovered import check_discovered
from kyvsim.cli.options import at_commas
from kyvsim.kube.objects import Json
from kyvsim.load.configuration import Configuration
from kyvsim.model.diagnostic import Diagnostic, Severity, likely

_LARGEST = (1 << 63) - 1
"""TOML has integers of 64 bits; its reader takes larger ones, which Python does not print."""


class _Level(NamedTuple):
    """A map of a configuration: where it lies, and what its keys may be."""

    path: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    maps: frozenset[str]
    """Keys that lead to maps of their own."""
    refused: Mapping[str, str]
    """Keys of options that are known but taken by no command here, with the reason."""


def settings_in_file(
    path: tuple[str, ...], command: Command, configuration: Configuration
) -> Iterator[Settled]:
    """Yield what is set for the command to which the words `path` lead, the weaker first.

    That is: by keys for all commands, then by those of the command; with what is wrong with them.
    """
    for level in _levels(path, command):
        found: Json = configuration.data
        for part in level.path:
            found = found.get(part)
            if not isinstance(found, Mapping):
                break
        if isinstance(found, Mapping):
            yield _settings(path, level, found, configuration)
        elif found is not None:
            yield _wrong(configuration, level.path, "must be a map")


def _levels(path: tuple[str, ...], command: Command) -> Iterator[_Level]:
    """Yield the levels that concern a command, outermost first."""
    shared = {key: one for one in command.parameters if one.shared for key in one.keys}
    yield _Level((), shared, frozenset(COMMANDS), {})
    for depth in range(1, len(path)):
        words = {one[depth] for one in every_command() if one[:depth] == path[:depth]}
        yield _Level(path[:depth], {}, frozenset(words), {})
    own = {key: one for one in command.parameters for key in one.keys}
    refused = {
        name.removeprefix("--"): str(one.settings.get("help"))
        for one in command.parameters
        if one.settings.get("hidden")
        for name in one.spellings
    }
    yield _Level(path, own, frozenset(), refused)


def _settings(
    command: tuple[str, ...],
    level: _Level,
    found: Mapping[str, Json],
    configuration: Configuration,
) -> Settled:
    settings: dict[str, Setting] = {}
    remarks: list[Diagnostic] = []
    outputs: list[Output] = []
    for key, value in found.items():
        if key in level.maps:
            continue
        place = configuration.locate((*level.path, key))
        parameter = level.parameters.get(key)
        if parameter is None:
            remarks += _unknown(level, key, configuration)
            continue
        words = _words(parameter, value, configuration.folder)
        if isinstance(words, str):
            remarks += _wrong(configuration, (*level.path, key), words).remarks
            continue
        if not configuration.named:
            written, refused = check_discovered(
                command, parameter, configuration, (*level.path, key)
            )
            outputs += written
            remarks += refused
            if refused:
                continue
        settings[parameter.name] = Setting(words, place)
    return Settled(settings, tuple(remarks), outputs=tuple(outputs))


def _unknown(level: _Level, key: str, configuration: Configuration) -> Iterator[Diagnostic]:
    """Yield that a key sets nothing; at the top it may set something for another command."""
    known = {*level.parameters, *level.maps}
    if not level.path:
        every = (one for command in every_command().values() for one in command.parameters)
        known.update(name for one in every if one.shared for name in one.keys)
    if key not in known:
        why = level.refused.get(key)
        hint = f": {why}" if why else likely(key, known)
        text = f"`{key}` sets nothing here{hint}"
        place = configuration.locate((*level.path, key))
        yield Diagnostic("KV095", Severity.ERROR, text, place)


def _wrong(configuration: Configuration, path: tuple[str, ...], wanted: str) -> Settled:
    text = f"`{path[-1]}` {wanted}"
    return Settled(remarks=(Diagnostic("KV096", Severity.ERROR, text, configuration.locate(path)),))


def _words(parameter: Parameter, value: Json, folder: str) -> tuple[str, ...] | str:
    """Return what a value is in words, or what it would have to be."""
    if is_flag(parameter):
        return (YES if value else NO)[:1] if isinstance(value, bool) else "must be true or false"
    settings = parameter.settings
    several = bool(settings.get("multiple")) or settings.get("nargs") == -1
    values = value if isinstance(value, list) and several else [value]
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
        return "must be a text, or a list of texts" if several else "must be a text or a number"
    if any(isinstance(one, int) and abs(one) > _LARGEST for one in values):
        return "must be a number of at most 64 bits"
    kind = settings.get("type")
    texts = [str(one) for one in values]
    if isinstance(kind, PathText):
        texts = [_seen_from_here(one, kind, folder) for one in texts]
    if settings.get("callback") is at_commas:  # a text of a file is one value
        texts = [f'"{one}"' if "," in one and '"' not in one else one for one in texts]
    return tuple(texts)


def _seen_from_here(value: str, kind: PathText, folder: str) -> str:
    """Return a value with its path, which is relative to a folder, as seen from here."""
    word, behind, path = value.partition(kind.behind) if kind.behind else ("", "", value)
    if not folder or path in {"", *kind.words} or "://" in path:
        return value
    return f"{word}{behind}{os.path.join(folder, path)}"
