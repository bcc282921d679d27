"""What `lint` warns of in a policy in CEL that can be compiled: one matter a file, all named here.

Advice is given only where it is surely right: a warning that must be ignored hides the others.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kyvsim.languages.cel.advice.absent_objects import absent_objects
from kyvsim.languages.cel.advice.absent_parents import absent_parents
from kyvsim.languages.cel.advice.atomic_fields import atomic_fields
from kyvsim.languages.cel.advice.constant_tests import constant_tests
from kyvsim.languages.cel.advice.controllers_left_out import controllers_left_out
from kyvsim.languages.cel.advice.controllers_metadata import controllers_metadata
from kyvsim.languages.cel.advice.controllers_spec import controllers_spec
from kyvsim.languages.cel.advice.ephemeral_containers import ephemeral_containers
from kyvsim.languages.cel.advice.metadata_of_templates import metadata_of_templates
from kyvsim.languages.cel.advice.no_conditions import no_conditions
from kyvsim.languages.cel.advice.no_constraints import no_constraints
from kyvsim.languages.cel.advice.null_objects import null_objects
from kyvsim.languages.cel.advice.number_arithmetic import number_arithmetic
from kyvsim.languages.cel.advice.only_containers import only_containers
from kyvsim.languages.cel.advice.scanned_users import scanned_users
from kyvsim.languages.cel.advice.undeclared_fields import undeclared_fields
from kyvsim.languages.cel.advice.unfilled_templates import unfilled_templates
from kyvsim.languages.cel.advice.unguarded_namespaces import unguarded_namespaces
from kyvsim.languages.cel.advice.unknown_paths import unknown_paths
from kyvsim.languages.cel.advice.unmoved_patches import unmoved_patches
from kyvsim.languages.cel.advice.unreached_validations import unreached_validations
from kyvsim.languages.cel.advice.unread_variables import unread_variables
from kyvsim.languages.cel.advice.unshown_messages import unshown_messages
from kyvsim.languages.cel.advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

CelAdvice: TypeAlias = Callable[[Written], Iterator[Diagnostic]]

CEL_ADVICE: tuple[CelAdvice, ...] = (
    no_constraints,
    no_conditions,
    absent_objects,
    null_objects,
    constant_tests,
    unreached_validations,
    unread_variables,
    unshown_messages,
    controllers_left_out,
    controllers_spec,
    controllers_metadata,
    metadata_of_templates,
    unmoved_patches,
    scanned_users,
    number_arithmetic,
    only_containers,
    ephemeral_containers,
    unguarded_namespaces,
    atomic_fields,
    undeclared_fields,
    unknown_paths,
    absent_parents,
    unfilled_templates,
)
