"""Makes the commands of the README that install the program, with its version and address."""

import tomllib
from pathlib import Path

from kyvsim import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS = PROJECT.get("urls", {}).get("Repository")


def made():
    """Return a block for a checkout, a wheel, and a tag if the address is known."""
    lines = {
        "pipx install .": "in a checkout; or: uv tool install .",
        "pipx install '.[lsp,playground]'": "with the server for editors, and the playground",
        f"pipx install dist/kyvsim-{__version__}-py3-none-any.whl": "a wheel, made by: uv build",
        "uvx --from . kyvsim lint policies/": "without installing",
    }
    if ADDRESS:
        lines[f"pipx install git+{ADDRESS}@v{__version__}"] = "a tag"
    width = max(map(len, lines))
    shown = "".join(f"{line:<{width}}  # {about}\n" for line, about in lines.items())
    return f"```text\n{shown}```\n"
