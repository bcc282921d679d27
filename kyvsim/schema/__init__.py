"""What objects of a kind look like: facts of Kyverno's kinds, and one engine that reads schemas.

`kyverno-VERSION.json` has the facts of Kyverno's kinds, from which everything else about them is
derived on first use: names, scopes and versions (`kinds.py`), schemas (`facts.py`).
Schemas are structural ones in Kubernetes' words, of Kyverno, of definitions that users give
(`kinds.py`), and of the files that our commands read (`kyvsim/load/schemas/`). `shape.py`
completes objects by them, `findings.py` finds what does not fit, `rules.py` what their CEL rules
object to. The messages are the callers': `kyvsim/load/structure.py` has ours,
`kyvsim/simulator/api_server/validation.py` the API server's.

Facts of more versions belong here as well: a readable file, and one module that reads it on first
use. Kubernetes' kinds are in `kyvsim/kubernetes/`, and what merges know of its types is in
`kyvsim/patch/`: both read tables of their own, and no schemas.
"""
