"""Notices of compilation on standard error. Compiled code comes from the cache afterwards."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from dyn_nodes.common.compiling import COMPILED, COMPILING, LIKELY, CompilationNotice


def shown(part: str) -> AbstractContextManager[Any]:
    """Return a context that prints notices of compilation: `compiling log_loader (dynamics), once ... 3 s`.

    Args:
        part: compiled part of the machine, such as `dynamics`.
    """

    def report(line: str) -> None:
        if line.startswith(COMPILED):
            print(f' ...{line.removeprefix(COMPILED)}', file=sys.stderr, flush=True)
            return
        name = line.removeprefix(COMPILING).removesuffix(f', once, about {LIKELY} s')
        print(f'{heading()}{name} ({part}), once', end='', file=sys.stderr, flush=True)

    notices: list[bool] = []

    def heading() -> str:
        notices.append(True)
        return f'dyn_nodes: {COMPILING}' if len(notices) == 1 else ','

    return CompilationNotice(report)
