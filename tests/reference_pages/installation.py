"""Makes the commands of the README that install the program, with its version and address."""

import tomllib
from pathlib import Path

from kyvsim import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS = PROJECT["urls"]["Repository"]


def made():
    """Return a block for a checkout, a wheel, and a tag of the repository."""
    return f"""\
```text
pipx install .            # in a checkout; or: uv tool install .
pipx install dist/kyvsim-{__version__}-py3-none-any.whl       # a wheel, as any installer does
uvx --from git+{ADDRESS}@v{__version__} kyvsim --help
```
"""
