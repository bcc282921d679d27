"""What the codes of remarks mean: the one place where it is written, for people and for pages.

Each file in `codes/` is a group. A code is a heading, `## KV202 what it is about`, with text
on why it is told, and blocks of YAML: `bad` has the code, `good` says what was meant without it.
`kyvsim rule` shows it, and docs/diagnostics.md is made of it.
"""

import re
from collections.abc import Iterator
from typing import Final

from kyvsim.kube.package_data import read_text
from kyvsim.light.named_tuple import NamedTuple

_GROUPS: Final = (
    "files",
    "shape",
    "resources",
    "values",
    "tests",
    "scenarios",
    "chainsaw",
    "runs",
    "fleets",
    "further_files",
    "cel",
    "refusals",
    "advice",
)
_BLOCK: Final = re.compile(r"^```yaml (bad|good)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Code(NamedTuple):
    """What one code means."""

    code: str
    title: str
    group: str
    why: str = ""
    """Paragraphs, in Markdown; "" where the message says it all."""
    bad: str = ""
    """YAML of which `lint` tells the code, and nothing else; "" where there is no example."""
    good: str = ""
    """YAML that says what was meant, and of which nothing is told."""


def every_code() -> tuple[Code, ...]:
    """Return all codes, by group and number; they are read at each call."""
    return tuple(one for name in _GROUPS for one in _codes_in(name))


def _codes_in(name: str) -> Iterator[Code]:
    text = read_text(__file__, "codes", f"{name}.md")
    head, *entries = re.split(r"^## ", text, flags=re.MULTILINE)
    group = head.removeprefix("# ").strip()
    for entry in entries:
        title, _, body = entry.partition("\n")
        code, _, about = title.partition(" ")
        blocks = dict(_BLOCK.findall(body))
        why = _BLOCK.sub("", body).strip()
        yield Code(
            code=code,
            title=about,
            group=group,
            why=why,
            bad=blocks.get("bad", ""),
            good=blocks.get("good", ""),
        )
