"""The commissioning page, command by command, with the simulated log-loader on a bus of two serial ports."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from domains import next_domain
from patience import patience

pytest.importorskip('cantools')
pytest.importorskip('can')

from dyn_nodes.middleware import RUNTIME

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'nodes'))
fixtures = importlib.import_module('test_can_bridge_node')
line, mapping_in = fixtures.line, importlib.import_module('can_testing').mapping_in

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'how_to' / 'commissioning.md'
LEVERS = "dyn-nodes topic pub -r 20 -t 40 -p 0 /machine/levers '{data: [-2.0, 0.0, 4.0]}'"
SAID = {
    'check config/can': 'no problems',
    'topic echo /joint_states': 'swing_joint',
    'topic echo /can/state': 'shadow',
    'fit bag': 'payload 672.6 kg',
    'bag import': 'missing: WheelLoads',
    'fit machine': 'for the mapping of the bus:',
    'fit apply': 'fitted/can/log_loader.yaml',
    'fit plan': 'boom',
    'check fitted': 'no problems',
    'monitor replay': 'payload at the end: ',
    'governor report': 'interventions: ',
    'service call': 'success: true',
}
"""What the commands print."""


def lines_of_page() -> list[str]:
    blocks = re.findall(r'^```sh\n(.*?)^```', PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [own for block in blocks for own in block.splitlines()]


class Walker:
    """Runs lines of the page in a directory; processes that stay go on in the background."""

    def __init__(self, folder: Path, replaced: dict[str, str]) -> None:
        self.folder, self.replaced = folder, replaced
        self.environment = {
            **os.environ,
            'DYN_NODES_MIDDLEWARE': RUNTIME,
            'ROS_DOMAIN_ID': str(next_domain()),
            'PYTHONPATH': str(PAGE.parents[1]),
        }
        self.background: dict[str, subprocess.Popen] = {}

    def words(self, text: str) -> list[str]:
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        return [sys.executable, '-m', 'dyn_nodes.cli', *shlex.split(text)[1:]]

    def stay(self, text: str) -> None:
        with (self.folder / f'process_{len(self.background)}.log').open('w') as log:
            self.background[text] = subprocess.Popen(
                self.words(text), cwd=self.folder, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def end(self, start: str) -> None:
        text = next(own for own in self.background if start in own)
        process = self.background.pop(text)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(patience(30))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def once(self, text: str) -> tuple[int, str]:
        done = subprocess.run(
            self.words(text),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=patience(300),
            check=False,
        )
        return done.returncode, f'{text}\n{done.stdout}\n{done.stderr}'

    def run(self, text: str, said: str = '') -> str:
        status, found = self.once(text)
        assert status == 0, f'{found}\n{self.logs()}'
        assert said in found, f'{found}\n{self.logs()}'
        return found

    def until(self, text: str, said: str) -> str:
        """Run a line again until it prints a text: nodes have to start, and levers to be silent before `arm`."""
        end = time.monotonic() + patience(120)
        while True:
            status, found = self.once(text)
            if status == 0 and said in found:
                return found
            assert time.monotonic() < end, f'{found}\n{self.logs()}'
            time.sleep(0.5)

    def logs(self) -> str:
        return '\n'.join(own.read_text()[-600:] for own in sorted(self.folder.glob('process_*.log')))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_command_of_the_page_does_what_the_page_says(line, tmp_path):
    mapping = mapping_in(tmp_path, timeout='3.0')  # this computer may be busy
    walker = Walker(
        tmp_path, {'/tmp/bus_a': line[0], '/tmp/bus_b': line[1], 'mapping:=log_loader': f'mapping:={mapping}'}
    )
    printed: dict[str, str] = {}
    try:
        for text in lines_of_page():
            if text.startswith('socat'):
                continue
            if 'governor_node' in text and any('governor_node' in own for own in walker.background):
                walker.end('governor_node')
            if 'governor report' in text:
                for _ in range(3):
                    walker.run(LEVERS)
                walker.end('bag record')
            if text.endswith('&') or 'bag record' in text:
                walker.stay(text.removesuffix('&'))
                continue
            said = next((wanted for start, wanted in SAID.items() if f'dyn-nodes {start}' in text), '')
            waits = any(verb in text for verb in ('service call', 'topic echo', 'topic pub'))
            printed[text] = walker.until(text, said) if waits else walker.run(text, said)
        walker.run('dyn-nodes topic echo /can/state --once', 'data: active')
        low, high = map(float, re.search(r'payload at the end: (\S+) to (\S+) kg', ''.join(printed.values())).groups())
        assert low < 672.6 < high
        assert high - low < 60.0
        # its operator takes the levers: two controllers must not command one machine
        walker.run(LEVERS)
        walker.until('dyn-nodes topic echo /can/state --once', 'shadow: another control unit sends ValveCommands')
    finally:
        for text in list(walker.background):
            walker.end(text)
