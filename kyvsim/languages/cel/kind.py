"""What a kind of policy in CEL is: a value that names it and compiles what is its own."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.engine.compile.compiled import CompiledBody, CompileOptions, Outcome
from kyvsim.engine.compile.followed import APPLIED, Ends
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.autogen import Variant
from kyvsim.languages.cel.expressions import Compiler
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.source import Path


class PolicyPart(NamedTuple):
    """A policy as it is written, or one of its variants, about to be compiled."""

    policy: Policy
    spec: Mapping[str, Json]
    """The specification of this variant."""
    compiler: Compiler
    """Compiles its expressions, and keeps what is wrong with them."""
    options: CompileOptions

    @property
    def mode(self) -> str:
        """What the policy judges: the text of its `evaluation.mode`."""
        return mode_of(self.policy)


def mode_of(policy: Policy) -> str:
    """Return what a policy judges: objects (`Kubernetes`), or payloads of some sort."""
    return str((policy.spec.get("evaluation") or {}).get("mode") or "Kubernetes")


class Idle(NamedTuple):
    """A part of a policy that does nothing."""

    path: Path
    """Its way from the policy's document."""
    reason: str


def idle_without(field: str) -> Callable[[Mapping[str, Json]], Iterator[Idle]]:
    """Return what tells of a specification without entries in the field that does the work."""

    def idle(spec: Mapping[str, Json]) -> Iterator[Idle]:
        if not spec.get(field):
            yield Idle(("spec",), f"`{field}` is empty")

    return idle


class CelKind(NamedTuple):
    """One kind, and its namespaced twin `Namespaced…`."""

    name: str
    stage: Stage
    compile: Callable[[PolicyPart], CompiledBody]
    variants: Callable[[Mapping[str, Json]], Iterable[Variant]] = lambda _: ()
    """What a specification becomes for the controllers of Pods, besides itself."""
    ends: Ends = APPLIED
    """What can come of a policy, as coverage counts it."""
    names_rules: bool = True
    """Whether results name the policy as their rule, too; otherwise their rule has no name."""
    without_constraints: bool = False
    """Whether a policy without `matchConstraints` matches everything; otherwise it does nothing."""
    fault: str = "failed to evaluate policy"
    """What is said where what decides on evaluating the policy cannot be evaluated itself."""
    forgives_faults: bool = False
    """Whether `failurePolicy: Ignore` makes conditions that cannot be evaluated count as unmet."""
    weighs_exceptions: bool = False
    """Whether what is compiled asks for exceptions itself; else a full one stands for it."""
    judges_json: Callable[[str], bool] = lambda _mode: False
    """Whether a policy of some mode judges JSON payloads."""
    json_objects: bool = False
    """Whether a policy of mode JSON judges every object too, as if it were a payload."""
    tells_faults: bool = False
    """Whether what cannot be compiled is an error of each object, besides being told."""
    later: bool = False
    """Whether it acts when the request's object is in the cluster already."""
    any_operation: bool = False
    """Whether `operations` of resource rules count for nothing."""
    match_fault: str = "failed to execute matching: "
    """How what is said begins where the constraints cannot be read."""
    match_rule: str = ""
    """The rule that such results name."""
    answers_always: Callable[[Mapping[str, Json]], bool] = lambda _: False
    """Whether tests see an answer, an empty one, of a specification that has nothing to say."""
    idle: Callable[[Mapping[str, Json]], Iterable[Idle]] = lambda _: ()
    """What of a specification does nothing, although Kyverno takes it."""
    unmatched: str = ""
    """What is said of objects that the policy does not match, as a failure; "" for nothing."""

    def unevaluated(self, cause: object) -> Outcome:
        """Return the result where what decides on evaluating the policy cannot be evaluated."""
        name = "" if self.names_rules else "evaluation"
        return Outcome(RuleStatus.ERROR, f"{self.fault}: {cause}", rule_name=name)
