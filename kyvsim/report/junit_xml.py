"""Text and attributes of JUnit XML."""

import re
from collections.abc import Mapping

from kyvsim.report.style import safe_text

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_IN_ATTRIBUTE = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def attributes(values: Mapping[str, str]) -> str:
    """Return attributes as they stand in a tag, each with a blank before it."""
    pairs = ((name, escaped(text).translate(_IN_ATTRIBUTE)) for name, text in values.items())
    return "".join(f' {name}="{text}"' for name, text in pairs)


def escaped(text: str) -> str:
    """Return text as it stands in XML, safe to show in a log.

    Characters that XML 1.0 does not have are shown as escapes, or become U+FFFD.
    """
    return _NOT_IN_XML.sub("\ufffd", safe_text(text)).translate(_MARKUP)
