"""The commands of the tutorials, as they stand on the page, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from dyn_nodes.commands.free_domain import choose_domain

DOCS = Path(__file__).resolve().parents[2] / 'docs'
BLOCK = re.compile(r'(?:<!-- test: (\w+) -->\n)?```sh\n(.*?)```', re.DOTALL)
START = 900.0
"""A first start compiles, and other tests may run beside, s."""


@dataclass(frozen=True)
class Block:
    """Commands of the page.

    Attributes:
        mark: `keep`: what it sets holds for the blocks that follow; `background`: a launch that runs beside them.
    """

    mark: str
    text: str


def blocks(page: str) -> list[Block]:
    return [Block(mark, text) for mark, text in BLOCK.findall((DOCS / page).read_text())]


class Terminal:
    """A shell that remembers what was set, and a launch in the background."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kept = folder, ''
        programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ['PATH']])
        self.environment = {**os.environ, 'PATH': programs, 'ROS_DOMAIN_ID': str(choose_domain())}
        self.launch: subprocess.Popen | None = None
        self.log = folder / 'launch.log'

    def run(self, text: str, timeout: float = 300.0) -> str:
        command = ['bash', '-euo', 'pipefail', '-c', self.kept + text]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
        )
        assert done.returncode == 0, f'{text}\n{done.stdout}\n{done.stderr}'
        return done.stdout

    def start(self, text: str, until: str = '') -> None:
        """Launch, and wait for a margin, or for a text in what the launch prints."""
        self.stop()
        command = ['bash', '-c', f'{self.kept}\nexec {text.replace("viewer:=true", "viewer:=true port:=0")}']
        with self.log.open('w') as log:
            self.launch = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT
            )
        end = time.monotonic() + START
        while until not in self.log.read_text() if until else self.margin('static', patience=5.0) is None:
            assert self.launch.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(1.0)

    def margin(self, measure: str, patience: float = 20.0) -> float | None:
        """Return a margin, or None where nothing came."""
        command = ['dyn-nodes', 'topic', 'echo', '--once', f'/stability/{measure}']
        try:
            done = subprocess.run(
                command, env=self.environment, capture_output=True, text=True, timeout=patience, check=False
            )
        except subprocess.TimeoutExpired:
            return None
        found = re.search(r'data: (\S+)', done.stdout)
        return float(found.group(1)) if found else None

    def stop(self) -> None:
        if self.launch is not None and self.launch.poll() is None:
            self.launch.send_signal(signal.SIGINT)
            self.launch.wait(30)
        self.launch = None


@pytest.fixture
def terminal(tmp_path):
    one = Terminal(tmp_path)
    yield one
    one.stop()


def numbers(seen: dict[str, str], part: str) -> list[float]:
    """Return what `data:` was in the answers to the block that holds a part of a command."""
    text = next(text for command, text in seen.items() if part in command)
    return [float(number) for number in re.findall(r'^data: (-?[\d.e+-]+)$', text, re.MULTILINE)]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_bring_your_own_machine(terminal):
    pytest.importorskip('pinocchio', reason='example-robot-data comes with the extra dev')
    seen: dict[str, str] = {}
    for block in blocks('tutorials/bring_your_own_machine.md'):
        if block.text.startswith('pip install'):
            continue
        if block.mark == 'background':
            terminal.start(block.text)
        elif block.mark == 'keep':
            seen[block.text] = terminal.run(block.text)
            terminal.kept += ''.join(line + '\n' for line in block.text.splitlines() if '=' in line.split(' ')[0])
        else:
            seen[block.text] = terminal.run(block.text)
    said = next(text for command, text in seen.items() if 'init $TIAGO' in command)
    assert 'tiago.yaml: tiago, 65.89 kg, 10 joints that move' in said
    assert '26 guesses, each marked "guess:"' in said
    (level,) = numbers(seen, 'topic list')[:1]
    assert level == pytest.approx(19.91, abs=0.05)
    (tilted,) = numbers(seen, 'slope_roll')
    assert tilted > 1.1 * level, 'the arm hangs to the right: with the left side down the right edge is further away'
    empty, laden = numbers(seen, 'data: 10.0')[:2]
    assert empty == pytest.approx(0.2456, abs=1e-3)
    assert laden == pytest.approx((182.7 * 0.2456 - 10.0 * (1.384 - 0.351)) / 192.7, abs=4e-3)
    holding, moved = numbers(seen, '/motors/lift/current')[:2]
    assert holding == pytest.approx(-10.07, abs=0.2)
    assert abs(moved) < 27.0
    terminal.stop()
    assert (terminal.folder / 'ur10_on_platform.yaml').exists()
    assert 'process has died' not in terminal.log.read_text()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_record_and_analyse_a_bag(terminal):
    launch, commands = blocks('how_to/logs.md')[-2:]
    terminal.start(launch.text.replace('duration:=24.0', 'duration:=0.5'), until='finished: ')
    terminal.stop()
    terminal.run(commands.text)
    assert (terminal.folder / 'my_run' / 'metadata.yaml').exists()
    assert list(terminal.folder.rglob('report.html'))
    (python,) = re.findall(r'```python\n(.*?)```', (DOCS / 'how_to' / 'logs.md').read_text(), re.DOTALL)
    out = terminal.run(f'{shlex.quote(sys.executable)} - <<"END"\n{python}END\n')
    assert re.match(r'\([\d.]+, [\d.]+\)', out)


def test_every_command_of_the_tutorials_is_one(capsys):
    """Names and options: a command that is not there is found without running anything."""
    from dyn_nodes.cli import build_parser

    parser = build_parser()
    lines = []
    for page in sorted([*DOCS.glob('tutorials/*.md'), *DOCS.glob('how_to/*.md')]):
        for block in blocks(str(page.relative_to(DOCS))):
            joined = re.sub(r"'\{.*?\}'", 'MESSAGE', block.text.replace('\\\n', ' '), flags=re.DOTALL)
            lines += [line.split('#')[0] for line in joined.splitlines() if line.startswith('dyn-nodes ')]
    assert len(lines) > 20
    for line in lines:
        try:
            parser.parse_args(shlex.split(line)[1:])
        except SystemExit:
            pytest.fail(f'{line}\n{capsys.readouterr().err}')
