"""Payloads: what policies judge that is no object of a cluster."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.source import Document


class PayloadMode(StrEnum):
    """What a payload is; policies name it in `spec.evaluation.mode`."""

    JSON = "JSON"
    HTTP = "HTTP"
    ENVOY = "Envoy"


class Payload(NamedTuple):
    """One payload, read from a file."""

    mode: PayloadMode
    document: Document
    name: str
    """What stands for it in rows: the path as it was given."""
    folder: str = ""
    """What rows show before the name, and need not name."""

    @property
    def data(self) -> Json:
        """What it holds."""
        return self.document.data
