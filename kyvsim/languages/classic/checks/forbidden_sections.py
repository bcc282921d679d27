"""Parts of a rule that may hold no variables at all.

upstream: pkg/validation/policy/validate.go, ruleForbiddenSectionsHaveVariables
"""

from collections.abc import Iterator

from kyvsim.expr.variables import VARIABLE
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_text import YamlError, load_one
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, marked_texts
from kyvsim.languages.classic.checks.variable_text import PLAIN_VARIABLE
from kyvsim.model.diagnostic import Diagnostic

_INVALID = "policy contains invalid variables: "


def check_forbidden_sections(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Match blocks, patch paths and image references hold no variables."""
    data = subject.data
    name = subject.rule.name
    patch = data.get("mutate", {}).get("patchesJson6902", "")
    if _patch_path_varies(patch):
        text = f'rule "{name}" should not have variables in patchesJSON6902 path section'
        yield subject.refuse("KV111", _INVALID + text, ("mutate", "patchesJson6902"))
    for block in ("exclude", "match"):
        for path, value in marked_texts(data.get(block), (block,)):
            if "{{" in value and PLAIN_VARIABLE.search(value):
                text = f'rule "{name}" should not have variables in {block} section'
                yield subject.refuse("KV111", _INVALID + text, path)
                break
    for index, image in enumerate(data.get("verifyImages", ())):
        images = (*image.get("imageReferences", ()), image.get("image", ""))
        if any("{{" in value and VARIABLE.search(value) for value in images):
            text = f'rule "{name}" should not have variables in image reference section'
            yield subject.refuse("KV111", _INVALID + text, ("verifyImages", index))


def _patch_path_varies(patch: str) -> bool:
    """Return whether a path in the patch holds a variable; a broken patch is another check's."""
    if "{{" not in patch:
        return False
    try:
        operations: Json = load_one(patch)
    except YamlError:
        return False
    if operations.__class__ is not list:
        return False
    paths = [entry.get("path") for entry in operations if entry.__class__ is dict]
    return any(path.__class__ is str and VARIABLE.search(path) for path in paths)
