"""What each option of each command may make the program do besides reading and printing.

A configuration that was found, not named by the user, belongs to whoever wrote the folder. It may
say what is read and how results are shown; it may not choose where to write, what to run or where
to connect. An option that is missing here is treated as one that runs programs, and a test fails
for it.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType

from kyvsim.cli.declared import Parameter


class Effect(Enum):
    """What an option decides."""

    NONE = "none"
    """What is read, how it is evaluated, and how results are shown."""
    WRITES_FILE = "writes a file"
    """The path of one file; `FORMAT` without `=FILE` goes to standard output."""
    WRITES_OBJECTS = "writes files"
    """A file, or a folder for files whose names end in `-mutated.yaml` or `-generated.yaml`."""
    WRITES_NEW = "writes new files"
    """A folder; the command refuses to replace files in it."""
    OVERWRITES = "overwrites files"
    """Whether files are replaced, created or relied upon that the option does not name itself."""
    RUNS = "runs a program"
    CONNECTS = "connects"


_APPLIED = ("apply", "diff", "explain")
_PLAYED = (*_APPLIED, "simulate")
_FORMATTED = ("config", "report merge", "report summary", "rule")
_WALKED = (*_PLAYED, "chainsaw", "lint", "lsp", "migrate", "test")

_EFFECTS: Mapping[Effect, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        Effect.WRITES_FILE: {
            "coverage-report": ("test",),
            "output-format": (*_PLAYED, "chainsaw", "equal", "lint", "migrate", "test"),
            "write-baseline": ("apply",),
        },
        Effect.WRITES_OBJECTS: {"output": ("apply",)},
        Effect.WRITES_NEW: {
            "output": ("examples", "migrate"),
            "partials": ("apply",),
            "write-tests": ("equal",),
        },
        Effect.OVERWRITES: {
            "create": ("test",),
            "fix": ("lint",),
            "force": ("equal", "examples", "migrate", "test"),
            "resume": ("apply",),
            "update": ("test",),
        },
        Effect.RUNS: {
            "changed": (*_APPLIED, "lint"),
            "engine": ("apply",),
            "helm": _APPLIED,
            "kustomize": _APPLIED,
        },
        Effect.CONNECTS: {"scheduler": ("apply",)},
        Effect.NONE: {
            "all": ("config", "simulate"),
            "as": _PLAYED,
            "as-group": _PLAYED,
            "audit-warn": ("apply",),
            "baseline": ("apply",),
            "batch": ("cel eval", "jp query"),
            "budget": _PLAYED,
            "by": ("report summary",),
            "check": ("migrate",),
            "check-idempotent": ("apply",),
            "cluster-per": ("apply",),
            "compact": ("jp query",),
            "compare": ("simulate",),
            "config": ("chainsaw",),
            "context-file": (*_APPLIED, "cel eval", "equal"),
            "coverage": ("test",),
            "coverage-threshold": ("test",),
            "crd-path": ("lint", "lsp"),
            "crd-paths": (*_APPLIED, "equal", "examples"),
            "detailed-results": ("apply", "diff", "report merge", "test"),
            "diff": ("apply", "lint"),
            "envoy-payload": _APPLIED,
            "exception": (*_PLAYED, "equal", "lsp"),
            "exceptions-with-resources": _APPLIED,
            "exceptions-within-policies": _APPLIED,
            "exclude": _WALKED,
            "explain": ("apply", "simulate"),
            "expression": ("cel check", "cel eval"),
            "fail-on": ("apply", "report merge", "report summary", "simulate"),
            "fail-only": ("chainsaw", "test"),
            "file": ("jp parse",),
            "file-name": ("test",),
            "generate-exceptions": ("apply",),
            "generated-exception-ttl": ("apply",),
            "helm-values": _APPLIED,
            "horizon": ("simulate",),
            "http-payload": _APPLIED,
            "input": ("jp query",),
            "install": ("chainsaw", "simulate"),
            "interleavings": ("simulate",),
            "jobs": ("apply", "chainsaw", "simulate", "test"),
            "json": _APPLIED,
            "kind": ("cel check", "cel eval", "cel functions", "migrate"),
            "lenient": ("test",),
            "max-cases": ("equal",),
            "max-events": ("simulate",),
            "max-files": _WALKED,
            "messages": ("diff",),
            "min-score": ("test",),
            "model": _PLAYED,
            "mutants": ("test",),
            "name": ("cel eval",),
            "namespace": ("cel eval",),
            "namespace-labels": _APPLIED,
            "no-ignore": _WALKED,
            "no-open": ("playground",),
            "now": (*_APPLIED, "cel eval", "equal"),
            "object": ("explain", "simulate"),
            "old-resource": _APPLIED,
            "operation": _APPLIED,
            "output-format": _FORMATTED,
            "parameter-resource": _APPLIED,
            "partial": ("migrate",),
            "partials-format": ("apply",),
            "piece-size": ("apply",),
            "policies": (*_PLAYED, "examples", "lint", "lsp", "migrate"),
            "policy": ("apply", "explain"),
            "policy-report": ("apply",),
            "port": ("playground",),
            "query": ("jp query",),
            "quiet": ("apply", "lint", "test"),
            "remove-color": (*_PLAYED, "chainsaw", "report merge", "report summary", "test"),
            "require-tests": ("test",),
            "resource": (*_PLAYED, "cel eval", "equal", "examples", "migrate", "test"),
            "rule": ("explain",),
            "scenarios": ("chainsaw",),
            "schema": ("config", "simulate"),
            "seconds": ("equal", "examples", "migrate", "test"),
            "seed": ("simulate",),
            "set": _APPLIED,
            "show": ("apply", "report merge"),
            "show-ignored": _WALKED,
            "skip-others": ("apply", "explain", "lint"),
            "start": ("simulate",),
            "statistics": ("apply", "lint", "test"),
            "stdin": ("apply",),
            "strict": ("apply", "diff", "lint", "lsp", "report merge", "report summary", "test"),
            "table": ("apply",),
            "target-resource": _APPLIED,
            "test-case-selector": ("test",),
            "test-file": ("chainsaw",),
            "tests": ("test",),
            "timeline": ("chainsaw",),
            "unquoted": ("jp query",),
            "userinfo": (*_APPLIED, "equal"),
            "values-file": (*_APPLIED, "equal"),
            "verbose": ("apply", "lint", "test"),
            "warn-exit-code": ("apply", "report merge", "report summary"),
            "warn-no-pass": ("apply",),
            "watch": ("test",),
            "without-exception": _APPLIED,
        },
    }
)
"""By effect and key (the first long spelling), the commands whose option has it."""


def classified() -> Iterable[tuple[str, str, Effect]]:
    """Yield the command, key and effect of everything that is classified."""
    for effect, keys in _EFFECTS.items():
        for key, commands in keys.items():
            for command in commands:
                yield command, key, effect


def effect_of(path: Iterable[str], parameter: Parameter) -> Effect:
    """Return what a parameter decides of the command to which the words `path` lead.

    What is not classified is taken for the worst.
    """
    command, key = " ".join(path), next(iter(parameter.keys), "")
    for effect, keys in _EFFECTS.items():
        if command in keys.get(key, ()):
            return effect
    return Effect.RUNS
