"""Recorded data of images: the section `images` of values files."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.model.values import Attestation, ImageData, Signature


def load_image_data(section: Json) -> Mapping[str, ImageData]:
    """Return the images of a section whose shape was checked, by their references.

    One with a tag stands under its digest as well, for the rules after the one that put it there.
    """
    images = {name: _image(entry) for name, entry in (section or {}).items()}
    pinned = {_pinned(name, image.digest): image for name, image in images.items() if image.digest}
    return MappingProxyType({**pinned, **images})


def _pinned(name: str, digest: str) -> str:
    repository, _, last = name.partition("@")[0].rpartition("/")
    return f"{repository}/{last.partition(':')[0]}@{digest}"


def _image(entry: Json) -> ImageData:
    signatures, attestations = entry.get("signatures"), entry.get("attestations")
    return ImageData(
        digest=entry.get("digest") or "",
        signatures=None if signatures is None else _signatures(signatures),
        attestations=None if attestations is None else tuple(map(_attestation, attestations)),
        manifest=entry.get("manifest"),
        manifest_list=entry.get("manifestList"),
        config=entry.get("configData"),
    )


def _attestation(entry: Json) -> Attestation:
    signatures = _signatures(entry.get("signatures") or ())
    return Attestation(entry["type"], entry.get("predicate"), signatures)


def _signatures(entries: Json) -> tuple[Signature, ...]:
    return tuple(Signature(**entry) for entry in entries)
