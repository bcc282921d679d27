"""Makes the description for a package index of README.md: its links become absolute.

An index shows the page without the repository, so links and pictures need the repository's
address, of the table `project.urls` of pyproject.toml, at the tag of the version.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"""(\]\(|srcset="|src=")(?!https?:|#)([^)"#\s]+)""")


class DescriptionHook(MetadataHookInterface):
    """Sets `readme`, which pyproject.toml lists under `dynamic`."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, object]) -> None:
        """Set the description; `metadata` has `version` and `urls` by now."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        described = absolute(text, metadata["urls"]["Repository"], f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": described}


def absolute(text: str, address: str, tag: str) -> str:
    """Return Markdown whose relative links lead to a repository at a tag."""

    def led(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("src") else "blob"
        return f"{found[1]}{address}/{kind}/{tag}/{found[2]}"

    return _LINK.sub(led, text)
