"""Says on standard error that machine code is made, which happens once for a machine."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from dyn_nodes.compiling import CompilationNotice


def shown() -> AbstractContextManager[Any]:
    """Return a context in which compilations are shown, a line a machine before it, one at the end."""
    return CompilationNotice(lambda line: print(f'dyn_nodes: {line}', file=sys.stderr, flush=True))
