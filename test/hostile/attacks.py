"""Names that contain Python, HTML, TeX, terminal markup, YAML, XML or paths."""

from __future__ import annotations

PYTHON = 'x"""+str(__import__("pathlib").Path("MARK").touch())+"""\'\'\''
ATTACKS = {
    'python': PYTHON,
    'html': '</td><script>alert(1)</script><img src=x onerror=alert(1)>',
    'tex': r'$\undefined{$ _^',
    'rich': '[red]x[/blue][link=file:///etc/passwd]',
    'yaml': "a: [*b, &c !!python/object/apply:os.system ['touch MARK'] # {",
    'xml': '"/><!DOCTYPE a SYSTEM "file:///etc/passwd"><b c="&amp;&#38;',
    'format': '{0.__class__}{name!r}%s%(name)s$(touch MARK)`touch MARK`;touch MARK',
    'path': '../../../../tmp/x/..',
    'jinja': "{{ 7*7 }}${__import__('os').system('touch MARK')}",
}
CONTROL = {'line': 'a\nb', 'escape': 'a\x1b[2Jb', 'direction': 'a\u202eb', 'separator': 'a\u2028b'}
"""Characters that would break a line or move the cursor of a terminal."""
