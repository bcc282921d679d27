"""`validate.podSecurity`: Pods against the Pod Security Standards, control by control."""

from collections.abc import Sequence
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.languages.classic.pod_security.controls import ActiveCheck, active_checks
from kyvsim.migrate.expressions import TRUE
from kyvsim.migrate.messages import Message
from kyvsim.migrate.pod_security import control_test
from kyvsim.migrate.pod_security.pod import Excuse, Pod
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

_CRON_JOB: Final = "CronJob"
_TOLD: Final = Condition(
    "message", "it names the first control that is broken, not the fields and values that break it"
)


def pod_security(given: Given) -> Sequence[Validation]:
    """Return a validation for each control of the level that is not excluded as a whole."""
    if not given.body:
        raise NotConvertible("a `podSecurity` without fields checks nothing", "leave the rule out")
    level, version = (given.body.get(field) or "" for field in ("level", "version"))
    checks = active_checks(level, version)
    if checks is None:
        raise NotConvertible(
            f"`{version}` is no version of the standards", "write `latest` or `v1.30`", ("version",)
        )
    given.scope.desk.note(_TOLD)
    start = f"Validation rule '{given.rule['name']}' failed."
    tests = [(one.control or one.id, control_test(one, _pod(given, one))) for one in checks]
    return [
        Validation(test, Message(f'{start} It violates PodSecurity "{level}:{version}": {control}'))
        for control, test in tests
        if test != TRUE
    ]


def _pod(given: Given, check: ActiveCheck) -> Pod:
    places = {POD_SPEC_PATHS.get(kind, ()) for kind in given.matching.kinds}
    if len(places) != 1 or () in places:
        raise NotConvertible(
            f"what is asked of the Pods of {', '.join(given.matching.kinds)} has no twin in CEL",
            "write a rule for Pods, another one for other controllers, and one for CronJobs",
        )
    (*way, last) = places.pop()
    owner = given.scope.object
    for step in way:
        owner = owner.child(step)
    excuses = [
        _excuse(place, one)
        for place, one in enumerate(given.body.get("exclude") or ())
        if one.get("controlName") == check.control
    ]
    return Pod(
        desk=given.scope.desk,
        spec=owner.child(last),
        annotations=given.scope.desk.offer("annotations", _annotations(given, owner)),
        variant=check.variant,
        own=tuple(one for one in excuses if not one.images),
        by_image=tuple(one for one in excuses if one.images),
    )


def _excuse(place: int, entry: Json) -> Excuse:
    return Excuse(
        tuple(entry.get("images") or ()),
        entry.get("restrictedField") or "",
        tuple(entry.get("values") or ()),
        place,
    )


def _annotations(given: Given, owner: Value) -> str:
    """Return the expression of a Pod's annotations.

    Those of a CronJob's Pods are looked for in its Job, as upstream does.
    """
    if _CRON_JOB in given.matching.kinds:
        owner = given.scope.object.child("spec").child("jobTemplate")
    found = owner.child("metadata").child("annotations").or_else({})
    if _CRON_JOB not in given.controllers:
        return found
    # Written so that the derived policies leave it as it is.
    of_job = "object['spec'].jobTemplate.?metadata.?annotations.orValue({})"
    return f"object.kind == '{_CRON_JOB}' ? {of_job} : {found}"
