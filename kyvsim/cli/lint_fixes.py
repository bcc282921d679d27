"""`lint --fix` and `--diff`: what fixes change is shown, then written or left alone."""

import codecs
import difflib
import os
from collections.abc import Iterable, Iterator, Sequence

from kyvsim.api.fixes import FixedFile
from kyvsim.api.suite_update import FileText
from kyvsim.cli.golden_files import write_files
from kyvsim.load.files import STDIN_NAME
from kyvsim.model.ending import Fact, Verdict
from kyvsim.report.look import Look, sheet_of
from kyvsim.report.style import counted, safe_line


def diff_of(files: Iterable[FixedFile], look: Look) -> Iterator[str]:
    """Yield what changes in files as a unified diff, as `patch` reads it."""
    paint = sheet_of(look).paint
    colours = {"+": "pass", "-": "fail"}
    for one in files:
        old, new = (text.splitlines(keepends=True) for text in (one.source.text, one.text))
        for line in difflib.unified_diff(old, new, one.source.name, one.source.name):
            shown = safe_line(line.rstrip("\r\n"))
            style = "" if line.startswith(("+++", "---")) else colours.get(line[:1], "")
            yield (paint(style, shown) if style else shown) + "\n"
            if not line.endswith("\n"):
                yield "\\ No newline at end of file\n"


def write_fixed(files: Sequence[FixedFile]) -> None:
    """Write files, all or none; raises OutputError where one of them can't be written."""
    write_files([_file_text(one) for one in files if one.source.name != STDIN_NAME])


def _file_text(one: FixedFile) -> FileText:
    with open(one.source.name, "rb") as stream:
        marked = stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
    folder = os.path.dirname(one.source.name)
    return FileText(one.source.name, "\ufeff" * marked + one.text, folder)


def fixed_fact(files: Sequence[FixedFile], *, written: bool) -> Fact:
    """Return how much was put right, or would be: that makes a run end as one that failed."""
    number = sum(len(one.fixed) for one in files)
    extent = f"{counted(number, 'finding')} in {counted(len(files), 'file')}"
    if written:
        return Fact("fixed", number, f"{extent} fixed" if number else "")
    text = f"{extent} would be fixed" if number else ""
    return Fact("fixable", number, text, Verdict.FAILED if number else Verdict.PASSED)
