"""What is in a cluster before anybody uses it: namespaces, roles, and Kyverno itself.

The table is package data (`installation.json`), made by tests/package_data/make_installation.py.
"""

from collections.abc import Iterable
from functools import lru_cache

from kyvsim.kube.objects import Json
from kyvsim.kube.package_data import read_table


@lru_cache(maxsize=1)
def installed_objects() -> Iterable[Json]:
    """Return the objects as they are installed, without uid and time of creation."""
    return tuple(read_table(__file__, "installation.json"))
