"""What objects of a kind look like: facts of Kyverno's kinds, and one engine that reads schemas.

`kyverno-VERSION.json` has the facts of Kyverno's kinds, from which `kinds.py` derives everything
else about them on first use. Schemas are structural ones in Kubernetes' words: of Kyverno, of
definitions that users give (both in `kinds.py`), and of the files that our commands read
(`kyvsim/load/schemas/`). `node.py` completes objects by them and finds what does not fit, and
`rules.py` evaluates their CEL rules. The messages are the callers': `kyvsim/load/structure.py` has
ours, `kyvsim/simulator/api_server/validation.py` the API server's.

`merge_types.py` knows the fields of Kubernetes' kinds as structured merges see them, from a table
of its own. How Kubernetes' kinds are called and served is in `kyvsim/kubernetes/`.
"""
