"""Makes the description for a package index of README.md.

An index shows the page without the repository, where links to its files lead nowhere. If the table
`project.urls` of pyproject.toml has the address of the repository, they become links to the tag of
the version there; otherwise only their texts remain, and pictures are left out.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_TARGET = re.compile(r"""(\]\(|srcset="|src=")(?!https?:|#)([^)"#\s]+)""")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?:|#)[^)\s]+\)")
_PICTURE = re.compile(r"<picture>.*?</picture>\n*", re.DOTALL)


class DescriptionHook(MetadataHookInterface):
    """Sets `readme`, which pyproject.toml lists under `dynamic`."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, object]) -> None:
        """Set the description; `metadata` has `version` by now, and `urls` if there are any."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = metadata.get("urls", {}).get("Repository")
        tag = f"v{metadata['version']}"
        described = absolute(text, address, tag) if address else unlinked(text)
        metadata["readme"] = {"content-type": "text/markdown", "text": described}


def absolute(text: str, address: str, tag: str) -> str:
    """Return Markdown whose relative links lead to a repository at a tag."""

    def led(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("src") else "blob"
        return f"{found[1]}{address}/{kind}/{tag}/{found[2]}"

    return _TARGET.sub(led, text)


def unlinked(text: str) -> str:
    """Return Markdown with the texts of relative links, and without pictures."""
    return _LINK.sub(r"\1", _PICTURE.sub("", text))
