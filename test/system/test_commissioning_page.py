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
from timeouts import scaled_timeout

pytest.importorskip('cantools')
pytest.importorskip('can')

from dyn_nodes.middleware import RUNTIME

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'nodes'))
fixtures = importlib.import_module('test_can_bridge_node')
line, mapping_in = fixtures.line, importlib.import_module('can_testing').mapping_in

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'how_to' / 'commissioning.md'
LEVERS = "dyn-nodes topic pub -r 20 -t 40 -p 0 /machine/levers '{data: [-2.0, 0.0, 4.0]}'"
EXPECTED = {
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
"""Expected output of the commands."""


def lines_of_page() -> list[str]:
    blocks = re.findall(r'^```sh\n(.*?)^```', PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [text for block in blocks for text in block.splitlines()]


class Walker:
    """Runs lines of the page in a directory; persistent processes continue in the background."""

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
        text = next(command for command in self.background if start in command)
        process = self.background.pop(text)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(scaled_timeout(30))
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
            timeout=scaled_timeout(300),
            check=False,
        )
        return done.returncode, f'{text}\n{done.stdout}\n{done.stderr}'

    def run(self, text: str, expected: str = '') -> str:
        status, output = self.once(text)
        assert status == 0, f'{output}\n{self.logs()}'
        assert expected in output, f'{output}\n{self.logs()}'
        return output

    def until(self, text: str, expected: str) -> str:
        """Repeat a line until it prints a text: nodes must start, and levers must time out before `arm`."""
        end = time.monotonic() + scaled_timeout(120)
        while True:
            status, output = self.once(text)
            if status == 0 and expected in output:
                return output
            assert time.monotonic() < end, f'{output}\n{self.logs()}'
            time.sleep(0.5)

    def logs(self) -> str:
        return '\n'.join(path.read_text()[-600:] for path in sorted(self.folder.glob('process_*.log')))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_command_of_the_page_has_the_documented_effect(line, tmp_path):
    mapping = mapping_in(tmp_path, timeout='3.0')  # the computer may be busy
    walker = Walker(
        tmp_path, {'/tmp/bus_a': line[0], '/tmp/bus_b': line[1], 'mapping:=log_loader': f'mapping:={mapping}'}
    )
    printed: dict[str, str] = {}
    try:
        for text in lines_of_page():
            if text.startswith('socat'):
                continue
            if 'governor_node' in text and any('governor_node' in command for command in walker.background):
                walker.end('governor_node')
            if 'governor report' in text:
                for _ in range(3):
                    walker.run(LEVERS)
                walker.end('bag record')
            if text.endswith('&') or 'bag record' in text:
                walker.stay(text.removesuffix('&'))
                continue
            expected = next((wanted for start, wanted in EXPECTED.items() if f'dyn-nodes {start}' in text), '')
            waits = any(verb in text for verb in ('service call', 'topic echo', 'topic pub'))
            printed[text] = walker.until(text, expected) if waits else walker.run(text, expected)
        walker.run('dyn-nodes topic echo /can/state --once', 'data: active')
        low, high = map(float, re.search(r'payload at the end: (\S+) to (\S+) kg', ''.join(printed.values())).groups())
        assert low < 672.6 < high
        assert high - low < 60.0
        # the operator takes over the levers: two controllers must not command one machine
        walker.run(LEVERS)
        walker.until('dyn-nodes topic echo /can/state --once', 'shadow: another control unit sends ValveCommands')
    finally:
        for text in list(walker.background):
            walker.end(text)
