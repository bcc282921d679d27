"""How data whose shape is right becomes a policy: what a language offers to those who load."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document

PolicyReader: TypeAlias = Callable[[Json, Document], tuple[Policy, tuple[Diagnostic, ...]]]
PolicyReaders: TypeAlias = Mapping[tuple[str, str], PolicyReader]
"""By group and kind; policies are read in all versions that are served."""
