"""Additions to MkDocs: generated pages, MathML, identifiers in tables, links out of docs/, stale lines, search."""

from __future__ import annotations

import html
import posixpath
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import parameters
import reference_numbers
import witnesses

from mutants.page import marked

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
LINK = re.compile(r'(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)\s]+)\)')
UNKNOWN = re.compile(r'\\[A-Za-z]+')
TABLE = re.compile(r'<table>.*?</table>', re.DOTALL)
WORD = re.compile(r'<code>([^\s<]{1,48})</code>')
UNSEARCHED = ('verification/', 'contributing/decisions')
"""Beginnings of the pages that the search of the site leaves out: records of quality, not answers to users."""
BOOST = {
    'how_to/can': 2.6,
    'how_to/data_sheet': 1.0,
    'how_to/': 2.0,
    'reference/machine_yaml': 0.75,
    'reference/constraints': 1.5,
    'reference/api': 0.3,
    'reference/parameters': 0.3,
    'contributing/': 0.1,
    'sources/': 0.3,
}
"""Weights of pages in the search, by the beginning of their path; 1 for the others."""
MATH_FONT = 'fonts/STIXTwoMath-Regular.ttf'
"""In ziamath, an extra of the documentation: browsers draw roots, braces and sums only with a font made for them."""


class EquationError(ValueError):
    """An equation that the converter does not know; the build fails."""


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the math font and the pages that are generated from data."""
    package = find_spec('ziamath')
    if package is None or package.origin is None:
        raise EquationError("ziamath, which has the math font, is not installed: pip install '.[dev]'")
    font = Path(package.origin).parent / MATH_FONT
    files.append(File.generated(config, 'site/math.ttf', content=font.read_bytes()))
    for name, content in generated_pages().items():
        files.append(File.generated(config, name, content=content))
    return files


def generated_pages() -> dict[str, str]:
    """Return the pages that are not in `docs/`, by name."""
    tables = {
        f'verification/reference_numbers_{source.replace("-", "_")}.md': reference_numbers.table(source)
        for source in reference_numbers.SOURCES
    }
    return {'reference/parameters.md': parameters.text(), 'verification/witnesses.md': witnesses.text(), **tables}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show a link to a file of the repository that is no page as the file's name; mark what is stale."""
    source = page.file.src_uri
    boost = next((value for start, value in BOOST.items() if source.startswith(start)), 1.0)
    page.meta['search'] = {'exclude': True} if source.startswith(UNSEARCHED) else {'boost': boost}
    if source == 'verification/mutants.md':
        markdown = marked(markdown)
    folder = posixpath.dirname(source)

    def shown(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join('docs', folder, match.group(2)))
        return match.group(0) if target.startswith('docs/') else f'{match.group(1)} (`{target}`)'

    return LINK.sub(shown, markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Render equations when the site is built, as browsers show MathML without a script; mark identifiers in tables."""
    html = TABLE.sub(lambda table: WORD.sub(r'<code class="word">\1</code>', table.group(0)), html)
    html = DISPLAY.sub(lambda match: f'<div class="equation">{_mathml(match.group(1), page, "block")}</div>', html)
    return INLINE.sub(lambda match: _mathml(match.group(1), page, 'inline'), html)


def _mathml(latex: str, page: Any, display: str) -> str:
    text = html.unescape(latex.strip())
    try:
        result = convert(text, display=display)
    except Exception as error:
        raise EquationError(f'{page.file.src_uri}: {type(error).__name__}: {error}: {text}') from error
    left = UNKNOWN.search(re.sub(r'<annotation.*?</annotation>', '', result, flags=re.DOTALL))
    if left:
        raise EquationError(f'{page.file.src_uri}: {left.group(0)} is not known: {text}')
    return str(result)
