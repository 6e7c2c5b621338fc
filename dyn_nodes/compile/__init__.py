"""Compilation of expression graphs to machine code, independent of physics.

A CasADi SX function becomes a `Tape` (straight-line code in single-assignment form), a tape becomes LLVM instructions
inside a Numba function, and a generated module contains such functions with loop drivers around them, cached on disk by
content.
"""

from dyn_nodes.common.sealing import cache_directory
from dyn_nodes.compile.cache import source_digest
from dyn_nodes.compile.module import CompiledModule, build_module, compile_functions, identifier
from dyn_nodes.compile.tape import Tape

__all__ = [
    'CompiledModule',
    'Tape',
    'build_module',
    'cache_directory',
    'compile_functions',
    'identifier',
    'source_digest',
]
