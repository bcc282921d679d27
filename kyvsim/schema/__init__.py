"""Schemas of objects: facts of Kyverno's kinds, and functions that apply schemas.

`kyverno-VERSION.json` has the facts of Kyverno's kinds, from which `kinds.py` derives everything
else about them on first use. Schemas are structural, with Kubernetes' keywords: of Kyverno, of
definitions that users give (both in `kinds.py`), and of the files that our commands read
(`kyvsim/load/schemas/`). `node.py` completes and validates objects, `rules.py` evaluates CEL rules.
Callers create the messages: `kyvsim/load/structure.py` has ours,
`kyvsim/simulator/api_server/validation.py` the API server's.

`merge_types.py` has the types of Kubernetes' kinds for structured merges, `cel_types.py` those for
type checking in CEL, each from a table of its own.
Names and scopes of Kubernetes' kinds are in `kyvsim/kubernetes/`.
"""
