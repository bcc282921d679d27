"""Draws what a command prints on a terminal, as SVG for light and dark pages.

`python docs/_site/picture.py` writes the pictures of the README; tests/test_docs.py compares them.
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[2]
COMMAND = "kyvsim apply policies/namespace-team -r fixtures/resources/namespaces.yaml"
THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}
_LOADED = re.compile(r"\s*@font-face \{\{.*?\}\}|<!--.*?-->", re.DOTALL)
"""Fonts that the picture would load from another host, and an address in a comment."""


def pictures() -> dict[str, str]:
    """Return the pictures by their paths in the repository."""
    output = printed()
    return {f"docs/pictures/apply-{name}.svg": drawn(output, THEMES[name]) for name in THEMES}


def printed() -> str:
    """Return what the command prints on a terminal, with its colours."""
    done = subprocess.run(
        [sys.executable, "-m", *COMMAND.split(), "--color", "always"],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"$ {COMMAND}\n{done.stdout}"


def drawn(output: str, theme: TerminalTheme) -> str:
    """Return a picture of an output."""
    console = Console(record=True, width=82, file=io.StringIO())
    console.print(Text.from_ansi(output))
    return console.export_svg(
        title="kyvsim",
        theme=theme,
        code_format=_LOADED.sub("", CONSOLE_SVG_FORMAT),
        unique_id="kyvsim",
    )


def main() -> None:
    """Write the pictures."""
    for path, picture in pictures().items():
        (ROOT / path).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
