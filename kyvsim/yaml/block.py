"""Plain data as the block of YAML that Kyverno's denials hold: folded at column 80."""

from kyvsim.kubernetes.objects import Json


def folded_yaml(data: Json) -> str:
    """Return `data` as YAML with sorted keys and two columns of indent, ending with a line end.

    upstream: go.yaml.in/yaml/v3's encoder, whose choice of quotes and folds PyYAML shares.
    """
    import yaml

    return yaml.safe_dump(data, width=80, indent=2, allow_unicode=True, default_flow_style=False)
