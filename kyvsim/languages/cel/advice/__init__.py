"""What `lint` warns of in a policy of Kyverno's CEL kinds that can be compiled: one matter a file.

What holds of Kubernetes' own policies too stands in `kyvsim.languages.cel_advice`.
"""

from kyvsim.languages.cel.advice.controllers_left_out import controllers_left_out
from kyvsim.languages.cel.advice.controllers_metadata import controllers_metadata
from kyvsim.languages.cel.advice.controllers_spec import controllers_spec
from kyvsim.languages.cel.advice.metadata_of_templates import metadata_of_templates
from kyvsim.languages.cel.advice.no_conditions import no_conditions
from kyvsim.languages.cel.advice.no_constraints import no_constraints
from kyvsim.languages.cel.advice.null_objects import null_objects
from kyvsim.languages.cel.advice.scanned_users import scanned_users
from kyvsim.languages.cel.advice.unfilled_templates import unfilled_templates
from kyvsim.languages.cel.advice.unmoved_patches import unmoved_patches
from kyvsim.languages.cel.advice.unreached_validations import unreached_validations
from kyvsim.languages.cel.advice.unshown_messages import unshown_messages
from kyvsim.languages.cel_advice import SHARED_ADVICE, CelAdvice

CEL_ADVICE: tuple[CelAdvice, ...] = (
    no_constraints,
    no_conditions,
    null_objects,
    unreached_validations,
    unshown_messages,
    controllers_left_out,
    controllers_spec,
    controllers_metadata,
    metadata_of_templates,
    unmoved_patches,
    scanned_users,
    unfilled_templates,
    *SHARED_ADVICE,
)
