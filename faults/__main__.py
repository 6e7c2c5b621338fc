"""The fault campaign: `python -m faults`, or `make faults`. Exit status 0 only where nothing went wrong."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from faults import computer, files, messages, processes

HEAD = """# Fault campaign

Criteria: no traceback, no hang, no unsafe state. Written by `{command}`.

| what | cases | faults | what was seen | seconds |
|---|---:|---:|---|---:|
"""
Row = tuple[str, int, list[str], str]


def _files(args: argparse.Namespace) -> list[Row]:
    outcome = files.run(args.files, args.seed)
    kinds = ', '.join(f'{count} {kind}' for kind, count in sorted(outcome.cases.items()))
    return [('damaged files', sum(outcome.cases.values()), outcome.faults, kinds)]


def _messages(args: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    for name, outcome in messages.run(args.messages, args.seed).items():
        faults = [
            f'{kind}: {text}'
            for kind in ('escaped', 'caught', 'unsafe')
            for text in getattr(outcome, kind)
        ]  # fmt: skip
        rows.append((f'messages: {name}', outcome.sent, faults, ''))
    return rows


def _outcomes(found: list[processes.Outcome]) -> list[Row]:
    return [(outcome.name, 1, outcome.faults, outcome.seen) for outcome in found]


def main() -> int:
    """Run the parts that are asked for and write the report."""
    parser = argparse.ArgumentParser(prog='python -m faults', description=__doc__)
    parser.add_argument('--files', type=int, default=10_000, metavar='N', help='damaged files (10000)')
    parser.add_argument('--messages', type=int, default=10_000, metavar='N', help='absurd messages (10000)')
    parser.add_argument('--nodes', type=int, default=len(processes.cases()), metavar='N', help='failing nodes (all)')
    parser.add_argument('--no-computer', action='store_true', help='leave out disk, home, memory and port')
    parser.add_argument('--seed', type=int, default=1, help='of chance (1)')
    parser.add_argument('--out', type=Path, metavar='FILE', help='write the report, such as docs/faults.md')
    args = parser.parse_args()
    parts: list[Callable[[], list[Row]]] = []
    if args.files:
        parts.append(lambda: _files(args))
    if args.messages:
        parts.append(lambda: _messages(args))
    if args.nodes:
        parts.append(lambda: _outcomes(processes.run(args.nodes)))
    if not args.no_computer:
        parts.append(lambda: _outcomes(computer.run()))
    text, failed = HEAD.format(command=' '.join(['python -m faults', *sys.argv[1:]])), 0
    for part in parts:
        began = time.monotonic()
        rows = part()
        seconds = (time.monotonic() - began) / max(len(rows), 1)
        for name, cases, faults, seen in rows:
            failed += len(faults)
            said = '; '.join([seen, *faults[:5]]).strip('; ').replace('|', '/')
            line = f'| {name} | {cases} | {len(faults)} | {said} | {seconds:.0f} |\n'
            print(line, end='', flush=True)
            text += line
    if args.out is not None:
        args.out.write_text(text, encoding='utf-8')
    print(f'{failed} faults')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
