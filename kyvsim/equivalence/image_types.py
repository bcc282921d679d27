"""The types of what a registry tells of an image, as far as policies read it.

Source of the rules: the OCI image specification, https://github.com/opencontainers/image-spec
(manifest.md, config.md, image-index.md).
"""

from functools import cache

from kyvsim.kubernetes.objects import Json
from kyvsim.patch.merge_types import Type, read_type, resolve


@cache
def image_type() -> Type:
    """Return the type of the data of an image; how it is written: `read_type`."""
    texts: Json = {"a": "s"}
    by_name: Json = {"p": {}, "e": "s"}
    # A set of names is written as a map to empty maps.
    names: Json = {"p": {}, "e": {"p": {}}}
    part: Json = {"p": {"mediaType": "s", "digest": "s", "size": "n", "annotations": by_name}}
    platform: Json = {"p": {"architecture": "s", "os": "s", "variant": "s"}}
    config: Json = {
        "p": {
            "created": "s",
            "author": "s",
            "architecture": "s",
            "os": "s",
            "config": {
                "p": {
                    "User": "s",
                    "WorkingDir": "s",
                    "StopSignal": "s",
                    "Env": texts,
                    "Cmd": texts,
                    "Entrypoint": texts,
                    "Labels": by_name,
                    "ExposedPorts": names,
                    "Volumes": names,
                }
            },
            "rootfs": {"p": {"type": "s", "diff_ids": texts}},
            "history": {"a": {"p": {"created": "s", "created_by": "s", "empty_layer": "b"}}},
        },
        "e": "s",
    }
    manifest: Json = {
        "p": {
            "schemaVersion": "n",
            "mediaType": "s",
            "config": part,
            "layers": {"a": part},
            "annotations": by_name,
        }
    }
    index: Json = {
        "p": {
            "schemaVersion": "n",
            "mediaType": "s",
            "manifests": {"a": {"p": {**part["p"], "platform": platform}}},
            "annotations": by_name,
        }
    }
    whole = {"config": config, "manifest": manifest, "imageIndex": index}
    return resolve(read_type({"p": whole}))
