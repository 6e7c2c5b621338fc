"""Launches and command lines with mistakes: each ends by itself with a message; none is accepted."""

from __future__ import annotations

import contextlib
import io
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from faults.computer import environment
from faults.files import scaled_timeout
from faults.processes import ROOT, TIMEOUT, Outcome

BODY = (
    '<link name="{name}"><inertial><origin xyz="0 0 {height:.3g}"/><mass value="{mass:.3g}"/>'
    '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>'
)
SHAPE = (
    '<collision><origin rpy="1.5708 0 0"/>'
    '<geometry><cylinder radius="{radius:.3g}" length="0.05"/></geometry></collision>'
)
AXLE = (
    '<joint name="axle_{k}" type="continuous"><parent link="base"/><child link="wheel_{k}"/>'
    '<axis xyz="0 1 0"/><origin xyz="{x:.3f} {y:.3f} {radius:.3g}"/></joint>'
)
COMMANDS_WITH_OPTIONS = ('report', 'demo', 'check', 'loadchart', 'launch', 'governor test', 'study run', 'bag play')


class Mistake(NamedTuple):
    """A command line that must fail: its words, and a part of the expected message."""

    words: list[str]
    expected: str


# -- command lines ---


def misspelt(word: str, rng: random.Random) -> str:
    """Return a word with one letter left out, doubled or exchanged with its neighbour; never the word itself."""
    while True:
        k = rng.randrange(1, len(word) - 1)
        misspelling = rng.choice(
            (word[:k] + word[k + 1 :], word[:k] + word[k] + word[k:], word[:k] + word[k + 1] + word[k] + word[k + 2 :])
        )
        if misspelling != word:
            return misspelling


def mistake(number: int, seed: int) -> Mistake:
    """Return a command line with one mistake; equal numbers give equal ones."""
    from dyn_nodes.cli import COMMANDS
    from dyn_nodes.middleware.launching import declared_arguments

    rng = random.Random(f'start {seed} {number}')
    files = sorted((ROOT / 'launch').glob('*.launch.xml'))
    path = rng.choice(files)
    name = path.name.removesuffix('.launch.xml')
    declared = [argument.name for argument in declared_arguments(path) if len(argument.name) > 3]
    argument, value = rng.choice(declared), rng.choice(('true', '1.5', 'some_name', '/a/path.yaml'))
    kind = rng.choice(('separator', 'argument', 'file', 'option', 'command', 'resource'))
    if kind == 'separator':
        sign = rng.choice(('=', ':', '==', ' = '))
        return Mistake(['launch', name, f'{argument}{sign}{value}'], f'did you mean {argument}:={value.strip()}?')
    if kind == 'argument':
        return Mistake(['launch', name, f'{misspelt(argument, rng)}:={value}'], 'did you mean ')
    if kind == 'file':
        return Mistake(['launch', misspelt(name, rng), *rng.choice(([], [f'{argument}:={value}']))], 'did you mean ')
    if kind == 'option':
        command = rng.choice(
            ('report', 'demo', 'check', 'loadchart', 'launch', 'governor test', 'study run', 'bag play')
        )
        return Mistake([*command.split(), 'x', '--no-such-option'], f'usage: dyn-nodes {command}')
    if kind == 'command':
        return Mistake([misspelt(rng.choice([verb for verb in COMMANDS if len(verb) > 4]), rng)], 'did you mean ')
    sweep = rng.choice(sorted(file.stem for file in (ROOT / 'config' / 'sweeps').glob('*.yaml')))
    return Mistake(['sweep', misspelt(sweep, rng)], 'did you mean ')


def judge_words(made: Mistake) -> str:
    """Run a command line in this process; return the fault of its end, or ''."""
    from dyn_nodes.cli import main

    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
        try:
            status = main(made.words)
        except Exception as error:
            return f'{" ".join(made.words)}: {type(error).__name__}: {error}'
    text = errors.getvalue()
    if status not in (1, 2) or 'Traceback' in text:
        return f'{" ".join(made.words)}: exit status {status}: {text[-200:]!r}'
    return '' if made.expected in text else f'{" ".join(made.words)}: no {made.expected!r} in {text[:200]!r}'


def command_lines(count: int = 300, seed: int = 1) -> Iterator[Outcome]:
    """Yield the outcomes of command lines with one mistake each."""
    faults = [fault for number in range(count) if (fault := judge_words(mistake(number, seed)))]
    yield Outcome('command lines with a mistake', f'{count} command lines', faults, count)


# -- launches ---


def launch(name: str, words: list[str], good: tuple[int, ...], expected: str) -> Outcome:
    """Run a launch file to its end; return the outcome."""
    outcome = Outcome(name)
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', *words]
    variables, most = environment(), scaled_timeout(TIMEOUT)
    with tempfile.TemporaryFile('w+', errors='replace') as output:
        process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=output, stderr=subprocess.STDOUT)
        try:
            process.wait(most)
        except subprocess.TimeoutExpired:
            outcome.faults.append(f'no end within {most:.0f} s')
            end(process)
        output.seek(0)
        text = output.read()
    line = next((line for line in text.splitlines() if expected in line), '')
    shown = line.partition('] ')[2].replace(str(ROOT), 'the package')
    outcome.seen = f'exit status {process.returncode}: {shown[:160]}'
    outcome.faults += problems(text, process.returncode, good, expected)
    return outcome


def problems(text: str, status: int | None, good: tuple[int, ...], expected: str) -> Iterator[str]:
    """Yield the faults of the output and the exit status of a launch."""
    if 'Traceback' in text:
        yield f'a traceback: {text[text.index("Traceback") :][-300:]!r}'
    if status not in good:
        yield f'exit status {status}'
    if expected not in text:
        yield f'no {expected!r} in the output: {text[-300:]!r}'


def end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a launch and wait for it; kill it if it does not end."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(30.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def write_base(directory: Path, rng: random.Random) -> list[str]:
    """Write a mobile base without a driven joint, as `init` describes it; return the arguments of its launch."""
    from faults.bags import run_command

    radius, length, width = rng.uniform(0.05, 0.2), rng.uniform(0.3, 1.0), rng.uniform(0.3, 0.8)
    corners = rng.choice((((-1, -1), (-1, 1), (1, 0)), ((-1, -1), (-1, 1), (1, -1), (1, 1))))
    parts = [BODY.format(name='base', height=rng.uniform(0.05, 0.3), mass=rng.uniform(10.0, 200.0), shape='')]
    for k, (x, y) in enumerate(corners):
        shape = SHAPE.format(radius=radius)
        parts.append(BODY.format(name=f'wheel_{k}', height=0.0, mass=rng.uniform(0.5, 3.0), shape=shape))
        parts.append(AXLE.format(k=k, x=0.5 * length * x, y=0.5 * width * y, radius=radius))
    urdf, config = directory / 'base.urdf', directory / 'base.yaml'
    urdf.write_text(f'<robot name="generated_base">{"".join(parts)}</robot>')
    fault = run_command(['init', str(urdf), '-o', str(config)])
    if fault or not config.exists():
        raise RuntimeError(f'init: {fault or "no file"}')
    return [f'machine:={urdf}', f'config:={config}']


def bases_without_driven_joints(count: int = 3, seed: int = 1) -> Iterator[Outcome]:
    """Launch generated mobile bases as in the README."""
    for number in range(count):
        rng = random.Random(f'base {seed} {number}')
        with tempfile.TemporaryDirectory() as name:
            words = write_base(Path(name), rng)
            mode, compose = rng.choice(('lockstep', 'realtime')), rng.choice(('true', 'false'))
            words += [f'mode:={mode}', f'compose:={compose}', 'duration:=0.3']
            title = f'a base without driven joints, {number}'
            yield launch(title, ['machine', *words], (0,), 'the run of 0.3 s is over')


WRONG = (
    ('log_loader', 'task:={}', 'pick_and_place_recovery', "parameter 'task'"),
    ('log_loader', 'recover_on:={}', 'tilt', "parameter 'recover_on'"),
    ('excavator', 'task:={}', 'excavator_dig', "parameter 'task'"),
    ('stewart_platform', 'path:={}', 'stewart_circle', "parameter 'path'"),
    ('machine', 'cartesian:=true link:={}', 'stick_link', 'unknown link'),
)
"""Launch file, arguments with a placeholder, the misspelt value, and the expected part of the message."""


def nodes_that_cannot_start(seed: int = 1) -> Iterator[Outcome]:
    """Launch with a value that an awaited node rejects."""
    for number, (file, words, right, expected) in enumerate(WRONG):
        rng = random.Random(f'wrong {seed} {number}')
        arguments = words.format(misspelt(right, rng)).split()
        mode = rng.choice(('lockstep', 'realtime'))
        title = f'launch {file} {" ".join(arguments)}'
        yield launch(title, [file, *arguments, f'mode:={mode}', 'duration:=0.5'], (1,), expected)


def two_machines_in_one_domain(seed: int = 1) -> Iterator[Outcome]:
    """Launch the same machine and another one next to a running one: both report an error that names its node."""
    with tempfile.TemporaryDirectory() as name:
        words = write_base(Path(name), random.Random(f'two {seed}'))
        command = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'machine', *words, 'compose:=true']
        variables = environment()
        with (Path(name) / 'first.log').open('w') as log:
            first = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT)
        try:
            until = time.monotonic() + scaled_timeout(TIMEOUT)
            while 'degrees of freedom' not in (Path(name) / 'first.log').read_text() and time.monotonic() < until:
                time.sleep(0.2)
            for title, second in (('the same machine', words), ('another machine', ['machine:=four_bar'])):
                outcome = launch(
                    f'{title} in the domain of one that runs',
                    ['machine', *second, 'duration:=0.5'],
                    (1,),
                    'in this domain already',
                )
                if first.poll() is not None:
                    outcome.faults.append(f'the first machine has ended with {first.returncode}')
                yield outcome
        finally:
            end(first)


PARTS = (command_lines, bases_without_driven_joints, nodes_that_cannot_start, two_machines_in_one_domain)
"""Functions that yield the outcomes of cases."""
