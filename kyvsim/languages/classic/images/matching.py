"""Which images of an object the entries of a rule name.

upstream: pkg/engine/utils/image.go
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from kyvsim.jmespath import QueryError
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.images.entries import entries_of, fits
from kyvsim.languages.classic.images.extract import Images, compile_reader
from kyvsim.languages.classic.rule_type import RuleContext

Image: TypeAlias = Mapping[str, Json]


def matching(entries: Iterable[Json], images: Images) -> list[Image]:
    """Return the images that entries name, one that several of them name several times."""
    every = tuple(entries)
    return [
        image
        for group in images.values()
        for image in group.values()
        for entry in every
        if fits(image["reference"], entry.get("imageReferences"))
    ]


def compile_concerns(context: RuleContext) -> Callable[[Json], bool]:
    """Return what says whether an object has an image that the rule names, or an unreadable one."""
    entries = entries_of(context.rule.data)
    read = compile_reader(context.rule.data, context.system)

    def concerns(obj: Json) -> bool:
        try:
            return bool(matching(entries, read(obj)))
        except QueryError:
            return True

    return concerns
