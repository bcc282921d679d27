"""`imageRegistry` entries: the data of images in a registry, from the values file.

kyvsim is offline: image data is in the `images` section of a values file, by the reference of
the image with its registry and its tag or digest; besides the data for verifyImages, an image
can have the JSON of its `manifest`, `manifestList` and `configData`.
Source of the rules: upstream pkg/engine/context/loaders/imagedata.go.
"""

from typing import Final

from kyvsim.engine.context.json_context import SKIPPED, EntryLoader, JSONContext
from kyvsim.jmespath import QueryError, QuerySyntaxError, System, compile_query, compile_template
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.policy.tree import ImageRegistryEntry


def compile_entry(entry: ImageRegistryEntry, system: System) -> EntryLoader:
    """Return the loader of a registry's data of an image."""
    name = entry.name
    template = compile_template({"reference": entry.reference, "jmesPath": entry.jmes_path}, system)

    def load(scope: JSONContext) -> object:
        if scope.holds(name):
            return SKIPPED
        try:
            filled = template.render(scope)
        except QueryError as error:
            raise QueryError(
                f"failed to load image reference for context entry {name}: {error.message}"
            ) from error
        data = with_floats(_recorded(name, str(filled["reference"]), scope))
        path = filled["jmesPath"]
        try:
            return compile_query(path.strip(), system).evaluate(data) if path else data
        except (QueryError, QuerySyntaxError) as error:
            raise QueryError(
                f"failed to apply JMESPath ({path}) results to context entry {name}, "
                f"error: {error.message}"
            ) from error

    return load


def _recorded(name: str, text: str, scope: JSONContext) -> object:
    try:
        image = parse_image(text)
    except ValueError as error:
        raise QueryError(f"failed to fetch image data for context entry {name}: {error}") from error
    found = scope.external.mocks.images.get(image.reference)
    told = f"failed to fetch image data of {text} for context entry {name}: kyvsim is offline"
    # With an undefined entry, an unchecked image could pass.
    if found is None:
        raise QueryError(
            f"{told}: add image metadata under `images:` in the values file: "
            f'images: {{"{image.reference}": '
            "{digest: sha256:…, manifest: {}, configData: {}}}"
        )
    documents = {
        "manifest": found.manifest,
        "manifestList": found.manifest_list,
        "configData": found.config,
    }
    lacking = [field for field in _ALWAYS if documents[field] is None]
    if lacking:
        fields = " and no ".join(f"`{field}`" for field in lacking)
        raise QueryError(
            f"{told}: the entry `{image.reference}` under `images:` in the values file has no "
            f"{fields}"
        )
    repository = f"{image.registry}/{image.path}"
    return {
        "image": text,
        "resolvedImage": f"{repository}@{found.digest or image.digest}",
        **image.as_data(),
        **documents,
    }


_ALWAYS: Final = ("manifest", "configData")
"""Data that a registry returns for every image."""
