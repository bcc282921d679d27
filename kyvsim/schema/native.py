"""Kubernetes' own admission policies and their bindings: what documents of them look like.

native.json is written by hand: what else the package has of Kubernetes' kinds says how they are
called and how their fields merge, but not which fields they need and which words those take.
"""

from collections.abc import Mapping
from functools import cache

from kyvsim.kube.package_data import read_table
from kyvsim.schema.node import Node, schemas_of

NATIVE_GROUP = "admissionregistration.k8s.io"


@cache
def native_schemas() -> Mapping[str, Node]:
    """Return their schemas by apiVersion/kind; seldom needed."""
    return schemas_of(read_table(__file__, "native.json"))


def native_kinds() -> frozenset[str]:
    """Return what they are called, in any version."""
    return frozenset(name.rpartition("/")[2] for name in native_schemas())
