"""Printable form of external text, see `roslite/printing.py`."""

from __future__ import annotations

from roslite.printing import YAML_WORDS, near, printable, xml_remark, yaml_word

__all__ = ['YAML_WORDS', 'near', 'printable', 'xml_remark', 'yaml_word']
