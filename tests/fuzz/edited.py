"""What an editor and the playground ask of texts, without an editor and without a browser."""

from collections.abc import Mapping

from kyvsim.api.inline_inputs import Typed
from kyvsim.api.workspace import Source, remarks_on
from kyvsim.lsp.document import read_text
from kyvsim.lsp.hints import completions_at, hover_at
from kyvsim.lsp.navigation import DefinitionContext, named_by, spots_of, symbols_of
from kyvsim.lsp.session import shown
from kyvsim.playground.evaluator import VIEWS

_STEPS = 12
"""Of how many places of a text an editor asks."""


def edit(files: Mapping[str, str]) -> None:
    """Ask of each text what an editor asks while somebody types in it."""
    sources = {name: Source(name, text) for name, text in files.items()}
    for name, source in sources.items():
        others = [one for one in sources.values() if one is not source]
        text = read_text(source.text)
        tuple(shown(remarks_on(source, others), source.text))
        tuple(symbols_of(text))
        lines = source.text.split("\n")
        for line in range(0, len(lines), len(lines) // _STEPS + 1):
            for column in (0, len(lines[line]) // 2, len(lines[line])):
                tuple(completions_at(text, line, column))
                hover_at(text, source, line, column)
                entry = text.entry_at(line, column)
                if entry is not None:
                    around = DefinitionContext(name, sources, sources.get)
                    tuple(spots_of(named_by(text, entry), text, around))


def play(files: Mapping[str, str]) -> None:
    """Ask for all views of what is typed."""
    names = ("policy.yaml", "resource.yaml", "values.yaml", "exception.yaml")
    typed = Typed(*(files[name] for name in names))
    for view in VIEWS:
        VIEWS[view](typed)
