"""What MkDocs does beside its own: equations as MathML, links that leave docs/ as plain text."""

from __future__ import annotations

import html
import posixpath
import re
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
LINK = re.compile(r'(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)\s]+)\)')
UNKNOWN = re.compile(r'\\[A-Za-z]+')


class EquationError(ValueError):
    """An equation that the converter does not know; the build fails."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show a link to a file of the repository that is no page as the file's name."""
    folder = posixpath.dirname(page.file.src_uri)

    def shown(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join('docs', folder, match.group(2)))
        return match.group(0) if target.startswith('docs/') else f'{match.group(1)} (`{target}`)'

    return LINK.sub(shown, markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Render equations when the site is built: browsers show MathML without a script."""
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
