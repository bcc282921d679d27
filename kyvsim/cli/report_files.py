"""Reports in several formats at once: one on standard output, the others in files."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence

from kyvsim.cli import declared
from kyvsim.cli.streams import OutputError
from kyvsim.light.named_tuple import NamedTuple


class Chosen(NamedTuple):
    """The format for standard output, and those for files with their paths."""

    shown: str
    files: tuple[tuple[str, str], ...]


def formats_option(known: Iterable[str]) -> declared.Decorator:
    """Return the option that `chosen_formats` reads, for the formats that a command knows."""
    return declared.option(
        "-o",
        "--output-format",
        multiple=True,
        metavar="FORMAT[=FILE]",
        help=f"One of {', '.join(known)}; with a file it goes there. May repeat. "
        "(Of apply, -o is another option: --output.)",
    )


def chosen_formats(values: Sequence[str], known: tuple[str, ...], call: declared.Call) -> Chosen:
    """Return what `FORMAT` and `FORMAT=FILE` options choose; the first known format by default."""
    shown: list[str] = []
    files: list[tuple[str, str]] = []
    for value in values:
        name, path = _format_and_file(value, known, "--output-format", call)
        if path:
            files.append((name, path))
        else:
            shown.append(name)
    if len(shown) > 1:
        text = f"only one format goes to standard output, not {' and '.join(shown)}: name files"
        raise declared.UsageError(f"--output-format: {text}", call)
    return Chosen(shown[0] if shown else known[0], tuple(files))


def chosen_files(
    values: Sequence[str], known: tuple[str, ...], option: str, call: declared.Call
) -> tuple[tuple[str, str], ...]:
    """Return formats and paths that the `FORMAT=FILE` values of an option choose."""
    chosen = [_format_and_file(value, known, option, call) for value in values]
    bare = next((name for name, path in chosen if not path), None)
    if bare is not None:
        raise declared.UsageError(f"{option} {bare}: name a file, as in {bare}=FILE", call)
    return tuple(chosen)


def _format_and_file(
    value: str, known: tuple[str, ...], option: str, call: declared.Call
) -> tuple[str, str]:
    """Return a format and the path that it goes to, "" for none."""
    name, separator, path = value.partition("=")
    name = name.lower()
    if name not in known:
        text = f"{option} {value}: choose from {', '.join(known)}"
        is_path = "/" in value or value.endswith((".yaml", ".yml", ".json"))
        if is_path and option == "--output-format":
            text += "; a path follows the format, as in json=FILE (-o PATH is of kyvsim apply)"
        raise declared.UsageError(text, call)
    if separator and not path:
        raise declared.UsageError(f"{option} {value}: there is no file after =", call)
    return name, path


def write_reports(reports: Iterable[tuple[str, Iterator[str]]]) -> None:
    """Write each report to its path, complete or not at all; raise OutputError where it fails.

    A link stays a link, and what is no file (`/dev/stderr`, a pipe) is written to as it stands.
    """
    for path, pieces in reports:
        try:
            _write(path, pieces)
        except OSError as error:
            raise OutputError(f"cannot write to {path}: {error.strerror}") from None


def _write(path: str, pieces: Iterator[str]) -> None:
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(pieces)
        return
    # A stream's link leads to a name that can't be opened, so links are followed for files only.
    path = os.path.realpath(path)
    temporary = f"{path}.{os.urandom(4).hex()}.tmp"
    try:
        with open(temporary, "x", encoding="utf-8", errors="backslashreplace") as stream:
            stream.writelines(pieces)
        os.replace(temporary, path)
    finally:  # also when an interrupt comes
        with contextlib.suppress(OSError):
            os.unlink(temporary)
