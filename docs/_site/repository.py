"""What the site shows of the repository beside `docs/`: whatever pages link to, as pages.

A link of a page may lead out of `docs/`, as it does where the repository is looked at: to a README,
a policy, a folder of fixtures. On the site these stand below `repository/`. Nothing else is taken
along, and a link that leads nowhere is left as it is, for `mkdocs build --strict` to refuse. A page
that would load something from another host is refused, too.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).parents[2]
_AWAY = "repository/"
_CODE = re.compile(
    r"^(?P<fence>```+)[^`\n]*\n.*?^(?P=fence)$"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
_LINK = re.compile(
    r"""(?:(?<=\]\()|(?<=src=")|(?<=srcset="))(?!\w+:|#|/)([^)"#\s]+)(#[^)"\s]*)?(?=[)"])"""
)
_LOADED = re.compile(
    r"""<(?:script|img|iframe|link rel="stylesheet")[^>]+(?:src|href)=["'](?:https?:)?//[^>]*>"""
)
_LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml", ".py": "python"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that links lead to, and those that these link to in turn."""
    own = [file.src_uri for file in files.documentation_pages()]
    seen = {f"docs/{uri}" for uri in own}
    waiting = sorted(seen)
    while waiting:
        path = waiting.pop()
        for target in _targets(path):
            if target not in seen and not files.get_file_from_path(_uri(target)):
                seen.add(target)
                waiting.append(target)
                files.append(File.generated(config, _uri(target), content=_shown(target)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return a page's text with its links as they are on the site."""
    uri = page.file.src_uri
    path = _repository_path(uri)

    def led(found: re.Match[str]) -> str:
        target = _resolved(path, found[1])
        if not (_ROOT / target).exists():
            return found[0]
        return posixpath.relpath(_uri(target), posixpath.dirname(uri) or ".") + (found[2] or "")

    return _outside_code(markdown, lambda text: _LINK.sub(led, text))


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Return a finished page; raises PluginError where it would load something from elsewhere."""
    loaded = _LOADED.search(output)
    if loaded:
        raise PluginError(f"{page.file.src_uri} asks another host: {loaded[0]}")
    return output


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for found in _CODE.finditer(markdown):
        parts += [change(markdown[end : found.start()]), _cell(markdown, found)]
        end = found.end()
    return "".join([*parts, change(markdown[end:])])


def _cell(markdown: str, found: re.Match[str]) -> str:
    """Return code as it is, but in a table without the escapes that only its bars are there for."""
    line = markdown[markdown.rfind("\n", 0, found.start()) + 1 :]
    return found[0].replace("\\|", "|") if line.startswith("|") else found[0]


def _targets(path: str) -> Iterator[str]:
    if not path.endswith(".md"):
        return
    text = _CODE.sub("", (_ROOT / path).read_text(encoding="utf-8"))
    for found in _LINK.finditer(text):
        target = _resolved(path, found[1])
        if (_ROOT / target).exists():
            yield target


def _resolved(path: str, link: str) -> str:
    """Return the path from the root that a link of a file leads to; a folder's is its README."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    readme = f"{target}/README.md"
    return readme if (_ROOT / readme).exists() else target


def _uri(path: str) -> str:
    """Return where a file or folder of the repository stands among the sources of the site."""
    is_own = path.startswith("docs/") and not path.startswith("docs/changes/")
    uri = path.removeprefix("docs/") if is_own else f"{_AWAY}{path}"
    if (_ROOT / path).is_dir():
        return f"{uri}/index.md"
    return uri if is_own or path.endswith(".md") else f"{uri}.md"


def _repository_path(uri: str) -> str:
    """Return the path of the file or folder whose page stands at a place among the sources."""
    path = uri.removeprefix(_AWAY) if uri.startswith(_AWAY) else f"docs/{uri}"
    return path if (_ROOT / path).exists() else path.removesuffix("/index.md").removesuffix(".md")


def _shown(path: str) -> str:
    """Return the page of a file or folder."""
    place = _ROOT / path
    if path.endswith(".md"):
        return place.read_text(encoding="utf-8")
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    listings = "\n".join(_listing(one) for one in files if one.is_file())
    return f"---\nsearch: {{exclude: true}}\n---\n# {path}\n\n{listings}"


def _listing(file: Path) -> str:
    language = _LANGUAGES.get(file.suffix, "text")
    text = file.read_text(encoding="utf-8").rstrip("\n")
    return f'````{language} title="{file.name}"\n{text}\n````\n'
