"""Files by URL, through `fsspec`: found, read in part, written whole."""

from collections.abc import Callable
from typing import Any, TypeVar

from kyvsim.fleet.errors import FleetError, ReadError
from kyvsim.fleet.item import InputFile, stamp_of
from kyvsim.fleet.packing import bare_name
from kyvsim.load.folders import is_manifest_name

_Read = TypeVar("_Read")
_MAGIC = frozenset("*?[")


def find(url: str) -> list[InputFile]:
    """Return the file at a URL, those in and below a folder, or those that a pattern finds.

    Raises FleetError where there is none, or where the storage cannot be asked.
    """
    files, path = _storage(url)

    def ask() -> dict[str, Any]:
        if _MAGIC & set(path):
            return dict(files.glob(path, detail=True))
        facts = files.info(path)
        if facts["type"] != "directory":
            return {path: facts}
        below = files.find(path, detail=True)
        return {name: one for name, one in below.items() if is_manifest_name(bare_name(name))}

    told, problem = _asked(ask)
    if told is None:
        raise FleetError(f"{url}: {problem}")
    there = [one for one in sorted(told.items()) if one[1]["type"] == "file"]
    if not there:
        raise FleetError(f"{url}: there is no file that fits")
    return [_found(files.unstrip_protocol(name), facts) for name, facts in there]


def _found(url: str, facts: dict[str, Any]) -> InputFile:
    told = (f"{name}={facts[name]}" for name in sorted(facts))
    return InputFile(url, url, int(facts.get("size") or 0), stamp_of(told))


def read(url: str, first: int, last: int | None) -> bytes:
    """Return bytes of a file from `first` up to and without `last`; raises ReadError."""
    files, path = _storage(url)
    data, problem = _asked(lambda: bytes(files.cat_file(path, start=first, end=last)))
    if data is None:
        raise ReadError(f"cannot be read: {problem}")
    return data


def write(url: str, data: bytes) -> None:
    """Put a file in its place, which storages of objects do at once; raises FleetError."""
    files, path = _storage(url)
    done, problem = _asked(lambda: files.pipe_file(path, data) or True)
    if not done:
        raise FleetError(f"cannot write to {url}: {problem}")


def names_in(url: str) -> list[str]:
    """Return the names of the files in a folder, sorted; none where there is no folder."""
    files, path = _storage(url)

    def ask() -> list[str]:
        files.invalidate_cache()
        return [str(one) for one in files.ls(path, detail=False)] if files.exists(path) else []

    names, problem = _asked(ask)
    if names is None:
        raise FleetError(f"{url}: {problem}")
    return sorted(one.rstrip("/").rpartition("/")[2] for one in names)


def make_folder(url: str) -> None:
    """See to it that there is a folder, where the storage has folders; raises FleetError."""
    files, path = _storage(url)
    done, problem = _asked(lambda: files.makedirs(path, exist_ok=True) or True)
    if not done:
        raise FleetError(f"cannot write to {url}: {problem}")


def _storage(url: str) -> tuple[Any, str]:
    """Return what reads URLs of this kind, and the path in it; raises FleetError."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        text = f"{url}: URLs need the package fsspec: pip install 'kyvsim[fleet]'"
        raise FleetError(text) from None
    found, problem = _asked(lambda: url_to_fs(url))
    if found is None:
        raise FleetError(f"{url}: {problem}")
    return found[0], str(found[1])


def _asked(ask: Callable[[], _Read]) -> tuple[_Read | None, str]:
    """Return what a storage answers, or None and what kept it from doing so."""
    try:
        return ask(), ""
    except FileNotFoundError:
        return None, "there is no such file"
    except Exception as error:  # noqa: BLE001 — each storage's library has errors of its own
        text = " ".join(str(error).split()) or type(error).__name__
        return None, text[:1].lower() + text[1:] if text[1:2].islower() else text
