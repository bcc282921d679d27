"""Libraries that bring nothing but macros.

upstream: cel-go ext/bindings.go, ext/protos.go
"""

from kyvsim.cel.environment import Library

BINDINGS = Library("bindings", (), macros="bindings")
"""`cel.bind`, a name for a value."""

PROTOS = Library("protos", (), macros="protos")
"""`proto.hasExt` and `proto.getExt`."""
