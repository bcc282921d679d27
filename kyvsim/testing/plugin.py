"""The pytest plugin: the fixture `assert_golden`, `--update-golden`, rows of test manifests.

It only has hooks and fixtures: kyvsim is not imported before a test or a collected test manifest
needs it.
"""

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

if TYPE_CHECKING:
    from kyvsim.testing.effects import Effect
    from kyvsim.testing.manifests import ManifestFile

_OPTION = "--update-golden"
_MANIFESTS = "kyvsim_tests"
_MANIFEST_NAME = "kyverno-test.yaml"
_GROUP = ("kyvsim", "kyvsim: tests of Kyverno policies")
_UPDATED = pytest.StashKey[list[str]]()

AssertGolden: TypeAlias = "Callable[[Iterable[Effect], str | Path], None]"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that enable test manifests, on the command line or in the configuration."""
    shown = f"collect the rows of test manifests ({_MANIFEST_NAME})"
    parser.addini(_MANIFESTS, shown, type="bool", default=False)
    option = f"--{_MANIFESTS.replace('_', '-')}"
    parser.getgroup(*_GROUP).addoption(option, dest=_MANIFESTS, action="store_true", help=shown)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ManifestFile | None":
    """Return the collector of a manifest, if the run collects them.

    Files with another name are manifests if they are named on the command line.
    """
    config = parent.config
    if not (config.getoption(_MANIFESTS) or config.getini(_MANIFESTS)):
        return None
    is_named = file_path.suffix in {".yaml", ".yml"} and parent.session.isinitpath(file_path)
    if file_path.name != _MANIFEST_NAME and not is_named:
        return None
    # Slow to import, and unused if the plugin was only loaded because it is installed.
    from kyvsim.testing.manifests import ManifestFile  # noqa: PLC0415 — see above

    return ManifestFile.from_parent(parent, path=file_path)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, object, object]:
    """Add the option after all conftests were loaded, unless one of them has defined it."""
    result = yield
    # With a value after it, so that an option with this name that has a value is recognised, too.
    _, unknown = parser.parse_known_and_unknown_args([_OPTION, "x"])
    if _OPTION in unknown:
        parser.getgroup(*_GROUP).addoption(
            _OPTION, action="store_true", help="rewrite golden files, and fail where they changed"
        )
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that rewrote golden files, after its last line."""
    result = yield
    updated = item.stash.get(_UPDATED, None)
    if updated:
        files = ", ".join(updated)
        pytest.fail(f"updated {files}: review the change, then run again", pytrace=False)
    return result


@pytest.fixture
def assert_golden(request: pytest.FixtureRequest) -> AssertGolden:
    """Return a function that fails if effects differ from a golden file.

    Its path is relative to the folder of the test's file. With `--update-golden` the file is
    rewritten instead, and the test fails at its end if the file has changed.
    """

    def check(effects: "Iterable[Effect]", path: str | Path) -> None:
        __tracebackhide__ = True
        # Slow to import, and unused if the plugin was only loaded because it is installed.
        from kyvsim.report.formats import log_safe  # noqa: PLC0415 — see above
        from kyvsim.testing import golden_difference, write_golden  # noqa: PLC0415 — see above

        file = request.path.parent / path
        found = tuple(effects)
        is_new = not file.exists()
        difference = golden_difference(found, file)
        if not difference:
            return
        if request.config.getoption(_OPTION):
            write_golden(found, file)
            request.node.stash.setdefault(_UPDATED, []).append(str(path))
            shown = f"{path}: new" if is_new else log_safe(f"{path}:\n{difference}")
            request.node.add_report_section("call", "golden file", shown)
            return
        hint = f"run pytest {_OPTION} to write the current results"
        if is_new:
            pytest.fail(f"there is no golden file {path}: {hint}", pytrace=False)
        pytest.fail(log_safe(f"{path} differs ({hint}):\n{difference}"), pytrace=False)

    return check
