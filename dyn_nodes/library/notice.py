"""Shows on standard error that machine code is made, a line a part of a machine; later it comes from the cache."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from dyn_nodes.common.compiling import COMPILED, COMPILING, LIKELY, CompilationNotice


def shown(part: str) -> AbstractContextManager[Any]:
    """Return a context in which a compilation is shown: `compiling log_loader (dynamics), once ... 3 s`.

    Args:
        part: of the machine, in words.
    """

    def say(line: str) -> None:
        if line.startswith(COMPILED):
            print(f' ...{line.removeprefix(COMPILED)}', file=sys.stderr, flush=True)
            return
        name = line.removeprefix(COMPILING).removesuffix(f', once, about {LIKELY} s')
        print(f'{begin()}{name} ({part}), once', end='', file=sys.stderr, flush=True)

    begun: list[bool] = []

    def begin() -> str:
        begun.append(True)
        return f'dyn_nodes: {COMPILING}' if len(begun) == 1 else ','

    return CompilationNotice(say)
