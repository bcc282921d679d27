"""Images: which images of an object the entries of a `verifyImages` rule name.

upstream: pkg/utils/api/image.go, pkg/engine/utils/image.go
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.engine.context.json_context import SKIPPED, ImageError, load_images
from kyvsim.jmespath import Query, QueryError, System, compile_query
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.rule_type import RuleContext

# The entries of `verifyImages`, with the fields of older policies put into today's.
#
# Source of the rules: upstream api/kyverno/v1/image_verification_types.go (`Convert`)


def entries_of(rule: Mapping[str, Json]) -> list[Json]:
    """Return the entries of a rule in today's form."""
    return [today_form(entry) for entry in rule.get("verifyImages") or ()]


def today_form(entry: Json) -> Json:
    """Return an entry whose `image`, `key` and `issuer` are among references and attestors."""
    image, key, issuer = (entry.get(name) for name in ("image", "key", "issuer"))
    if not (image or key or issuer):
        return entry
    changed = dict(entry)
    if image:
        changed["imageReferences"] = [*(entry.get("imageReferences") or ()), image]
    annotations = entry.get("annotations")
    if annotations or key or issuer:
        attestor: dict[str, Json] = {"annotations": annotations} if annotations else {}
        if key:
            attestor["keys"] = {"publicKeys": key}
        elif issuer:
            attestor["keyless"] = {
                "issuer": issuer,
                "subject": entry.get("subject") or "",
                "roots": entry.get("roots") or "",
            }
        given = entry.get("attestors") or ()
        changed["attestors"] = [*given, {"entries": [attestor]}]
    return changed


def image_fits(image: str, patterns: Iterable[str] | None) -> bool:
    """Return whether an image's reference fits one of the wildcard patterns."""
    return any(matches(pattern, image) for pattern in patterns or ())


# The images in an object: of containers, or from where `imageExtractors` point.
#
# Source of the rules: upstream pkg/utils/api/image.go

Images: TypeAlias = dict[str, dict[str, Json]]
"""By group and name: registry, path, tag, digest, reference and jsonPointer."""

ImageReader: TypeAlias = Callable[[Json], Images]
"""Finds the images of an object; raises `QueryError` where one cannot be read."""


class _Extractor(NamedTuple):
    name: str
    fields: tuple[str, ...]
    key: str
    value: str
    query: Query | None


def compile_reader(rule: Mapping[str, Json], system: System) -> ImageReader:
    """Return what finds the images that a rule looks at."""
    configured = rule.get("imageExtractors")
    by_kind = {
        kind: tuple(_extractor(one, system) for one in listed or ())
        for kind, listed in (configured or {}).items()
    }

    def read(obj: Json) -> Images:
        kind = text_field(obj, "kind")
        if kind not in by_kind:
            return _of_containers(obj, told=configured is not None)
        if not by_kind[kind]:
            raise QueryError(f"failed to extract images: no extractors found for {kind}")
        found: Images = {}
        for extractor in by_kind[kind]:
            images = dict(_extracted(obj, extractor.fields, "", extractor))
            if images:
                found[extractor.name] = images
        return found

    return read


def _of_containers(obj: Json, *, told: bool) -> Images:
    """Return the images of containers; `told` if upstream has a message for one it cannot read.

    Without extractors upstream's command line silently finds no image then.
    """
    if not obj:
        return {}
    try:
        found = load_images(obj)
    except ImageError as error:
        problem = error.message if told else f"{error.place}: {error.message}"
        raise QueryError(f"failed to extract images: {problem}") from error
    return {} if found is SKIPPED else found


def _extractor(config: Json, system: System) -> _Extractor:
    fields = tuple(part.strip(" ") for part in config["path"].split("/") if part.strip(" "))
    value = config.get("value") or ""
    if not value:
        fields, value = fields[:-1], fields[-1] if fields else ""
    path = config.get("jmesPath")
    query = compile_query(path, system) if path else None
    return _Extractor(config.get("name") or "custom", fields, config.get("key") or "", value, query)


def _extracted(
    node: Json, fields: tuple[str, ...], way: str, extractor: _Extractor
) -> Iterator[tuple[str, dict[str, Json]]]:
    if node is None:
        return
    if fields and fields[0] == "*":
        if node.__class__ not in {list, dict}:
            raise QueryError("failed to extract images: invalid type")
        members = node.items() if node.__class__ is dict else enumerate(node)
        for name, member in members:
            yield from _extracted(member, fields[1:], f"{way}/{name}", extractor)
        return
    if node.__class__ is not dict:
        raise QueryError("failed to extract images: invalid image config")
    if fields:
        below = f"{way}/{fields[0]}"
        yield from _extracted(node.get(fields[0]), fields[1:], below, extractor)
    else:
        yield from _image(node, way, extractor)


def _image(node: Json, way: str, extractor: _Extractor) -> Iterator[tuple[str, dict[str, Json]]]:
    pointer = f"{way}/{extractor.value}"
    key = node.get(extractor.key) if extractor.key else pointer
    if key.__class__ is not str:
        raise QueryError("failed to extract images: invalid key")
    image: Json = text_field(node, extractor.value)
    if not image.strip():
        return
    if extractor.query is not None:
        image = extractor.query.evaluate(image)
        if image.__class__ is not str:
            raise QueryError("failed to extract images: the jmesPath must produce a string")
    try:
        yield key, {**parse_image(image).as_variable(), "jsonPointer": pointer}
    except ValueError as error:
        text = f"failed to extract images: invalid image '{image}' ({error})"
        raise QueryError(text) from error


# Which images of an object the entries of a rule name.
#
# Source of the rules: upstream pkg/engine/utils/image.go

Image: TypeAlias = Mapping[str, Json]


def matching(entries: Iterable[Json], images: Images) -> list[Image]:
    """Return the images that entries name, one that several of them name several times."""
    every = tuple(entries)
    return [
        image
        for group in images.values()
        for image in group.values()
        for entry in every
        if image_fits(image["reference"], entry.get("imageReferences"))
    ]


def compile_concerns(context: RuleContext) -> Callable[[Json], bool]:
    """Return a predicate: whether an object has an image of the rule, or an unreadable one."""
    entries = entries_of(context.rule.data)
    read = compile_reader(context.rule.data, context.system)

    def concerns(obj: Json) -> bool:
        try:
            return bool(matching(entries, read(obj)))
        except QueryError:
            return True

    return concerns
