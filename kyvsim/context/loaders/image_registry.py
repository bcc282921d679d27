"""`imageRegistry` entries: no registry is ever asked; values given for the name are the answer."""

from kyvsim.context.json_context import SKIPPED, EntryLoader, JSONContext
from kyvsim.context.loaders.protocol import ContextLoader
from kyvsim.expr import Environment, QueryError, compile_template
from kyvsim.kube.objects import Json


def _compile(name: str, spec: Json, environment: Environment) -> EntryLoader:
    template = compile_template(spec.get("reference") or "", environment)

    def load(scope: JSONContext) -> Json:
        if scope.holds(name):
            return SKIPPED
        try:
            image = template.render(scope)
        except QueryError as error:
            raise QueryError(
                f"failed to load image reference for context entry {name}: {error.message}"
            ) from error
        # An undefined entry could let an image pass that nobody looked at.
        raise QueryError(
            f"failed to fetch image data of {image} for context entry {name}: kyvsim asks no "
            f"registry; give the data in the values file: globalValues: {{{name}: {{}}}}"
        )

    return load


LOADER = ContextLoader("imageRegistry", _compile)
