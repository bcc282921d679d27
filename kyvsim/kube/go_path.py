"""Slash-separated paths the way Go's `path` package reads them."""

import posixpath


def clean_path(path: str) -> str:
    """Return the shortest path that means the same, as Go's path.Clean does, but "" for ""."""
    cleaned = posixpath.normpath(path) if path else ""
    return f"/{cleaned.lstrip('/')}" if cleaned.startswith("//") else cleaned
