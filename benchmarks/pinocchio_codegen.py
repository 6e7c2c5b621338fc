"""Forward dynamics of the log-loader against code that Pinocchio generates, and against its compiled loop.

    python benchmarks/pinocchio_codegen.py [--quick] [--ready]

Prints times in us a state as JSON. `ours`: `forward_dynamics_batch`. `generated`: C code from Pinocchio's
articulated-body algorithm by CppADCodeGen, as its `CodeGenABA` makes it, compiled by gcc with -march=native and -O3 or
-Ofast, whichever is faster, in a loop of C over ready rows. `compiled_aba`: `pinocchio::aba`, g++ -O3 -march=native, in
a loop of C++ over the same rows. `..._all`: on all cores, each thread with a part of the rows. Answers are compared
first. The least times of parts of 2,000 states are added: such a part is seldom interrupted by another program.

It needs g++ and the headers of the extra `codegen`; the result stays in build/pinocchio_codegen (two minutes of
processor time, once). With `--ready` it builds nothing. If something is missing, it prints {"missing": reason}.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.bench import URDF, Loader
from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine

SOURCES = Path(__file__).with_name('codegen')
BUILD = Path(__file__).resolve().parents[1] / 'build' / 'pinocchio_codegen'
STATES = 20_000
SHORT = 2_000
"""Number of states of a call on one core: short enough to end before another program runs."""
CORES = os.cpu_count() or 1
LEVELS = ('-O3', '-Ofast')
HEADERS = ('pinocchio/codegen/cppadcg.hpp', 'cppad/cg.hpp', 'eigen3/Eigen/Core', 'urdfdom_headers/urdf_model/model.h')
# as the packaged libraries were built (pinocchioTargets.cmake)
DEFINITIONS = (
    'NDEBUG',
    'BOOST_MPL_LIMIT_LIST_SIZE=30',
    'BOOST_MPL_LIMIT_VECTOR_SIZE=30',
    'BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS',
    'BOOST_FUSION_INVOKE_MAX_ARITY=12',
    'PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION',
    'PINOCCHIO_WITH_URDFDOM',
)
# With -march=native alone Eigen aligns wider and frees memory that the packaged libraries allocated with malloc:
# a segmentation fault.
MEMORY = ('EIGEN_MAX_ALIGN_BYTES=16', 'EIGEN_MALLOC_ALREADY_ALIGNED=1')


class NoPeerError(RuntimeError):
    """The peer is missing and cannot be built; the message gives the reason."""


@dataclass(frozen=True)
class Builder:
    """Compilers and headers. `build`: build missing files."""

    compiler: str
    prefixes: tuple[Path, ...]
    build: bool

    def made(self, name: str, content: str, make: Callable[[Path], None]) -> Path:
        """Return the file of a name and a content; `make` writes it if it is missing."""
        stem, _, ending = name.partition('.')
        target = BUILD / f'{stem}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.{ending}'
        if not target.exists():
            if not self.build:
                raise NoPeerError('not built yet: python benchmarks/pinocchio_codegen.py')
            BUILD.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f'partial-{os.getpid()}-{target.name}')
            make(partial)
            partial.replace(target)
        return target

    def cpp(self, name: str, source: str, *options: str) -> Path:
        """Return a program or library from a source of C++ with Pinocchio."""
        includes = [item / 'include' for item in self.prefixes]
        command = [
            *(self.compiler, '-std=c++17', '-w', *options),
            *(f'-I{item / part}' for item in includes for part in ('', 'eigen3', 'urdfdom_headers')),
            *(f'-D{item}' for item in DEFINITIONS),
            str(SOURCES / source),
            *(f'-L{item / "lib"}' for item in self.prefixes),
            *(f'-Wl,-rpath,{item / "lib"}' for item in self.prefixes),
            *('-lpinocchio_default', '-lpinocchio_parsers', '-ldl'),
        ]
        versions = [
            (item / 'pinocchio' / 'config.hpp').read_text() for item in includes if (item / 'pinocchio').exists()
        ]
        content = ' '.join([*command, (SOURCES / source).read_text(), *versions])
        return self.made(name, content, lambda target: ran([*command, '-o', str(target)]))

    def generated(self, level: str) -> Path:
        """Return the library of the generated code at a level of optimization."""
        program = self.cpp('generate.out', 'generate.cpp', '-O0')
        urdf, rows = Path(URDF), SOURCES / 'rows.c'

        def make(target: Path) -> None:
            directory = target.with_suffix('.sources')
            shutil.rmtree(directory, ignore_errors=True)
            ran([str(program), str(urdf), str(directory)])
            objects = []
            for source in (directory / 'aba_forward_zero.c', rows):
                objects.append(str(directory / source.with_suffix('.o').name))
                ran([self.compiler, '-xc', level, '-march=native', '-fPIC', '-c', str(source), '-o', objects[-1]])
            # linked without -Ofast, with which gcc adds code that flushes small numbers to zero in the whole process
            ran([self.compiler, '-shared', *objects, '-lm', '-o', str(target)])
            shutil.rmtree(directory)

        content = ' '.join([level, program.name, urdf.read_text(), rows.read_text()])
        return self.made(f'generated{level}.so', content, make)


def builder(build: bool) -> Builder:
    """Return compilers and headers. Raises NoPeerError if one is missing."""
    compiler = shutil.which('g++')
    if compiler is None:
        raise NoPeerError('expected g++, found none')
    prefixes = tuple(prefix for prefix in (Path(entry) / 'cmeel.prefix' for entry in sys.path) if prefix.is_dir())
    for name in HEADERS:
        if not any((prefix / 'include' / name).exists() for prefix in prefixes):
            raise NoPeerError(f"expected the header {name}, found none: pip install '.[codegen]'")
    return Builder(compiler, prefixes, build)


def ran(command: list[str]) -> None:
    """Run a command. Raises NoPeerError if it fails."""
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise NoPeerError(f'{Path(command[0]).name} ended with {answer.returncode}: {answer.stderr[-1500:]}')


class Peers:
    """Loops of Pinocchio over ready rows (n, nq + 2 nv) of q, v, tau, by name: `run(name, rows, out, thread)`."""

    def __init__(self, tools: Builder) -> None:
        options = ('-O3', '-march=native', '-fPIC', '-shared', *(f'-D{option}' for option in MEMORY))
        self.generated = {level: ctypes.CDLL(str(tools.generated(level))) for level in LEVELS}
        self.aba = ctypes.CDLL(str(tools.cpp('aba.so', 'aba.cpp', *options)))
        self.aba.peer_of.restype = ctypes.c_void_p
        self.handles = [ctypes.c_void_p(self.aba.peer_of(str(URDF).encode())) for _ in range(CORES)]

    def run(self, name: str, rows: np.ndarray, out: np.ndarray, thread: int = 0) -> None:
        """Fill the accelerations (n, nv). `name`: `aba` or a level of optimization of the generated code."""
        arrays = ctypes.c_void_p(rows.ctypes.data), ctypes.c_void_p(out.ctypes.data)
        count, inputs, outputs = (ctypes.c_long(number) for number in (*rows.shape, out.shape[1]))
        if name == 'aba':
            self.aba.run_aba(self.handles[thread], count, *arrays)
        else:
            self.generated[name].run(count, inputs, outputs, *arrays)


def in_parts(call: Callable[[slice], object], states: slice, rounds: int) -> float:
    """Return the sum of the least times of calls with each part of the states, us."""
    firsts = range(states.start, states.stop, SHORT)
    parts = [slice(first, min(first + SHORT, states.stop)) for first in firsts]
    least = np.full(len(parts), np.inf)
    for _ in range(rounds):
        for k, part in enumerate(parts):
            start = time.perf_counter()
            call(part)
            least[k] = min(least[k], time.perf_counter() - start)
    return 1e6 * float(least.sum())


def measured(rounds: int, peers: Peers) -> dict[str, Any]:
    """Return the times, us a state. Raises ValueError if answers differ."""
    loader = Loader(load_machine(URDF, find_resource('config/log_loader.yaml')))
    q, v, tau = loader.states(STATES)
    rows = np.array([np.concatenate(loader.peer_state(*state)) for state in zip(q, v, tau)])
    p, a, b = np.tile(loader.parameters, (STATES, 1)), np.empty_like(v), np.empty_like(v)
    batch = loader.model.kernels.forward_dynamics_batch
    cuts = np.linspace(0, STATES, CORES + 1).astype(int)
    parts = [slice(*pair) for pair in pairwise(cuts)]

    def act(name: str, part: slice, thread: int = 0) -> None:
        if name == 'ours':
            batch(q[part], v[part], tau[part], p[part], a[part])
        else:
            peers.run(name, rows[part], b[part], thread)

    names, whole = ('ours', *LEVELS, 'aba'), slice(0, STATES)
    act('ours', whole)
    for name in names[1:]:
        act(name, whole)
        if np.abs(a - b[:, loader.order]).max() > 1e-9 * np.abs(a).max():
            raise ValueError(f'forward dynamics differs from Pinocchio, {name}: nothing to compare')

    def spent(name: str, part: slice, thread: int = 0) -> float:
        return in_parts(lambda peers: act(name, peers, thread), part, rounds)

    one = [spent(name, whole) for name in names]
    with ThreadPoolExecutor(CORES) as pool:
        every = [max(pool.map(lambda k, name=name: spent(name, parts[k], k), range(CORES))) for name in names]
    result: dict[str, Any] = {'states': STATES, 'cores': CORES}
    for suffix, times in (('', one), ('_all', every)):
        by_name = {name: total / STATES for name, total in zip(names, times)}
        result[f'ours{suffix}'], result[f'compiled_aba{suffix}'] = by_name['ours'], by_name['aba']
        level = min(LEVELS, key=by_name.__getitem__)
        result[f'generated{suffix}'], result[f'level{suffix}'] = by_name[level], level
    return result


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    parser.add_argument('--ready', action='store_true', help='build nothing')
    options = parser.parse_args()
    try:
        print(json.dumps(measured(20 if options.quick else 100, Peers(builder(not options.ready)))))
    except NoPeerError as error:
        print(json.dumps({'missing': str(error)}))


if __name__ == '__main__':
    main()
