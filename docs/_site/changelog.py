"""Moves the fragments of docs/changes to a section of CHANGELOG.md.

`python docs/_site/changelog.py 1.1.0 2027-01-15`; the section is then edited for users.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = ("added", "changed", "fixed", "removed")
_ABOVE = "## [Unreleased]\n\nSee [docs/changes](docs/changes/README.md).\n\n"


def section(fragments: list[Path], version: str, date: str) -> str:
    """Return the section of a release: the texts of its fragments by kind, in their order."""
    parts = [f"## [{version}] - {date}\n"]
    for kind in KINDS:
        texts = [_item(one) for one in fragments if one.name.endswith(f".{kind}.md")]
        if texts:
            parts.append(f"\n### {kind.title()}\n\n{''.join(texts)}")
    return "".join(parts)


def _item(fragment: Path) -> str:
    """Return a fragment as items of a list, with links from the root of the repository."""
    text = fragment.read_text(encoding="utf-8").strip()
    text = re.sub(r"\]\(\.\./(?!\.\.)", "](docs/", text).replace("](../../", "](")
    lines = text.splitlines()
    if not text.startswith("- "):
        lines = [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]
    return "".join(f"{line}\n" for line in lines)


def main(root: Path, version: str, date: str) -> int:
    """Move the fragments; return how many there were."""
    fragments = sorted((root / "docs/changes").glob("[0-9]*.md"))
    page = root / "CHANGELOG.md"
    text = page.read_text(encoding="utf-8")
    new = f"{_ABOVE}{section(fragments, version, date)}\n"
    if text.count(_ABOVE) != 1:
        raise SystemExit(
            "CHANGELOG.md has no section Unreleased as docs/_site/changelog.py expects"
        )
    page.write_text(text.replace(_ABOVE, new), encoding="utf-8")
    for one in fragments:
        one.unlink()
    return len(fragments)


if __name__ == "__main__":
    main(ROOT, *sys.argv[1:3])
