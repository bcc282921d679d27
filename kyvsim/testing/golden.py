"""Golden files: effects compared with a file, or written to it."""

from collections.abc import Iterable
from pathlib import Path

from kyvsim.testing.effects import Effect
from kyvsim.testing.text import golden_text, text_difference


def golden_difference(effects: Iterable[Effect], path: str | Path) -> str:
    """Return how effects differ from what a golden file says; "" where they do not.

    A file that is not there says nothing: all of the effects is new.
    """
    file = Path(path)
    golden = file.read_text(encoding="utf-8") if file.exists() else ""
    return text_difference(golden, golden_text(effects))


def write_golden(effects: Iterable[Effect], path: str | Path) -> None:
    """Make a golden file say what the effects are; folders that are missing are made."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(golden_text(effects), encoding="utf-8", newline="\n")
