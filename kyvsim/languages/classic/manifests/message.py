"""The signed message in an object's annotations, and the manifests inside it.

upstream: github.com/sigstore/k8s-manifest-sigstore pkg/k8smanifest/verify.go, pkg/util
"""

import base64
import binascii
import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_all

_MOST_BYTES = 32 << 20
"""What a message may grow to: more than an object can be, less than a bomb."""
_GZIP = b"\x1f\x8b"
_ENDINGS = (".yaml", ".yml", ".signed")


class MessageError(Exception):
    """A message that is missing or holds no manifest for the object; `missing` where it is none."""

    def __init__(self, message: str, *, missing: bool) -> None:
        super().__init__(message)
        self.missing = missing


class SignedMessage(NamedTuple):
    """What signatures are made over, and the signatures (base64 of DER) in order."""

    content: bytes
    signatures: tuple[str, ...]


def read_message(annotations: Mapping[str, str], domain: str) -> SignedMessage:
    """Return the message and signatures in annotations of a domain; raises `MessageError`."""
    text = annotations.get(f"{domain}/message")
    if text is None:
        raise MessageError("message not found", missing=True)
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        problem = f"failed to decode base64 message in the annotation: {error}"
        raise MessageError(problem, missing=False) from error
    return SignedMessage(unpacked(packed), tuple(_signatures(annotations, domain)))


def unpacked(data: bytes) -> bytes:
    """Return what gzip holds, or the data itself where it is no gzip; raises `MessageError`."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return data
    if len(found) > _MOST_BYTES:
        raise MessageError("the message is too large", missing=False)
    return found


def _signatures(annotations: Mapping[str, str], domain: str) -> Iterator[str]:
    key, number = f"{domain}/signature", 0
    while key in annotations:
        yield annotations[key]
        number += 1
        key = f"{domain}/signature_{number}"


def manifests_for(message: SignedMessage, obj: Json) -> list[Json]:
    """Return the manifests that the object may have been made from; raises `MessageError`.

    That is the one with its group, kind and name; without any, all of its kind.
    """
    key = object_key(obj)
    of_kind = [one for one in _manifests(message.content) if object_key(one).kind == key.kind]
    if not of_kind:
        problem = "failed to find a YAML manifest in the gzipped message"
        raise MessageError(problem, missing=True)
    group = split_api_version(key.api_version)[0]
    named = [
        one
        for one in of_kind
        if object_key(one).name == key.name
        and split_api_version(object_key(one).api_version)[0] == group
    ]
    placed = [one for one in named if object_key(one).namespace == key.namespace]
    best = placed if len(named) > 1 and placed else named
    return best[:1] or of_kind


def _manifests(content: bytes) -> list[Json]:
    direct = list(_documents(content))
    if direct:
        return direct
    try:
        if not content.startswith(_GZIP):
            raise tarfile.ReadError("neither YAML nor gzip")
        with tarfile.open(fileobj=io.BytesIO(unpacked(content)), mode="r:") as archive:
            return [one for data in _files(archive) for one in _documents(data)]
    except (tarfile.TarError, EOFError) as error:
        problem = f"failed to read YAMLs in the gzipped message: {error}"
        raise MessageError(problem, missing=False) from error


def _files(archive: "tarfile.TarFile") -> Iterator[bytes]:
    members = sorted(archive.getmembers(), key=lambda member: member.name)
    for member in members:
        file = archive.extractfile(member) if member.isreg() else None
        if file and member.name.endswith(_ENDINGS) and not member.name.startswith(".."):
            yield file.read()


def _documents(content: bytes) -> Iterator[Json]:
    """Yield the mappings of a YAML stream up to the first document that cannot be read."""
    try:
        for document in load_all(content, floats=True):
            if document.__class__ is dict:
                yield document
    except (YamlError, UnicodeDecodeError, ValueError):
        return
