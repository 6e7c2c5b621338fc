"""`dyn-nodes study`: run the sources' experiments and compare them with the published results."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out, tables
from dyn_nodes.commands.option_types import PORT, at_least, count
from dyn_nodes.common.json_text import json_text

DEFAULT_OUT = 'study_results'
LEAST_TITLE = 20
"""Least width of titles in `study list`, characters."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the `study` command to the command line."""
    parser = add_command(
        subparsers,
        'study',
        "List or run the sources' experiments, compared with the published results.",
        'dyn-nodes study list\n'
        'dyn-nodes study run abo-shanab-2003/e3 --plot\n'
        'dyn-nodes study run abo-shanab-2003/e1 abo-shanab-2003/e2\n'
        'dyn-nodes study run abo-shanab-2003/all --json\n'
        'dyn-nodes study view saha-1991/disk --variants F1 F2 D4',
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    listing = add_command(verbs, 'list', 'List names and titles of all studies.', 'dyn-nodes study list')
    listing.add_argument('--json', action='store_true', help='print JSON')
    running = add_command(
        verbs,
        'run',
        'Run studies; exit status 0 only if every claim holds.',
        'dyn-nodes study run abo-shanab-2003/e1 abo-shanab-2003/e2 --plot\ndyn-nodes study run saha-1991/all --json',
    )
    running.add_argument('names', nargs='+', metavar='STUDY', help='SOURCE/STUDY, SOURCE/all or all')
    running.add_argument(
        '--plot', action='store_true', help='draw the figures and write them to --out with one HTML page'
    )
    running.add_argument('--json', action='store_true', help='print all claims as JSON')
    add_out(running, f'directory of the page and the figures ({DEFAULT_OUT})')
    running.add_argument('--jobs', type=count(1), metavar='N', help='processes for sweeps (one a core)')
    viewing = add_command(
        verbs,
        'view',
        'Watch the motion of a study in the browser.',
        'dyn-nodes study view saha-1991/disk --variants F1 F2 D4',
        'Watch the motion of a study in the browser, on this machine only (127.0.0.1), until Ctrl-C. '
        'saha-1991/disk: the rolling disk by up to six of its schemes at once (--variants).',
    )
    viewing.add_argument('name', metavar='STUDY', help='SOURCE/STUDY')
    viewing.add_argument('--variants', nargs='+', default=[], metavar='NAME', help='such as schemes (F1 F2)')
    viewing.add_argument('--port', type=PORT, default=8080, metavar='N', help='port of the page; 0: a free port (8080)')
    viewing.add_argument('--duration', type=at_least(0.0), metavar='S', help='end after this time, s')
    viewing.add_argument('--csv', metavar='FILE', help='write time, body, position and rotation there instead')
    viewing.add_argument('--motion', metavar='NAME', help='motion to show first or to write')


def run(args: argparse.Namespace) -> int:
    """List, run or show studies; return 0 if every claim holds, else 1."""
    return {'list': _list, 'run': _run, 'view': _view}[args.verb](args)


def _view(args: argparse.Namespace) -> int:
    from dyn_nodes.studies.animations import animations_of

    try:
        motions = animations_of(args.name, args.variants)
    except (KeyError, ValueError) as error:
        raise CommandError(str(error.args[0])) from None
    if args.motion is not None:
        if args.motion not in motions:
            raise CommandError(f'--motion: expected one of {", ".join(motions)}; found {args.motion!r}')
        motions = {args.motion: motions.pop(args.motion), **motions}
    if args.csv:
        try:
            next(iter(motions.values())).write_csv(Path(args.csv))
        except OSError as error:
            raise CommandError(f'--csv {args.csv}: {error.strerror}') from None
        return 0
    from dyn_nodes.viewer.player import Player
    from dyn_nodes.viewer.time_line import play

    try:
        player = Player(motions, port=args.port)
    except (OSError, OverflowError) as error:
        raise CommandError(str(error)) from None
    print(f'{args.name} on {player.address}; Ctrl-C ends', flush=True)
    play(player, args.duration)
    return 0


def _list(args: argparse.Namespace) -> int:
    from dyn_nodes.studies.listing import listed_studies

    studies = listed_studies()
    if args.json:
        tables.print_json([{'name': name, 'title': title} for name, title in studies.items()])
        return 0
    width = max((len(name) for name in studies), default=0)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for name, title in studies.items():
        print('\n'.join(_in_columns(name, title, width, columns)))
    return 0


def _in_columns(name: str, title: str, width: int, columns: int) -> list[str]:
    """Return the lines of a name in a column of `width` characters and its title wrapped within `columns`."""
    lines = textwrap.wrap(title, max(columns - width - 2, LEAST_TITLE)) or ['']
    return [f'{name:<{width}}  {lines[0]}', *(f'{"":<{width}}  {line}' for line in lines[1:])]


def _run(args: argparse.Namespace) -> int:
    from dyn_nodes.studies.framework import StudyResult, as_json, run_studies, select

    try:
        chosen = list({entry.name: entry for name in args.names for entry in select(name)}.values())
    except KeyError as error:
        raise CommandError(str(error.args[0])) from None
    out = args.out or (Path(DEFAULT_OUT) if args.plot else None)
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(f'--out {out}: {error.strerror}') from None

    def finished(result: StudyResult) -> None:
        if not args.json:
            _print_result(result)

    results = run_studies(chosen, args.plot, args.jobs, finished=finished)
    if args.json:
        tables.print_json(as_json(results))
    if out is not None:
        from dyn_nodes.studies.page import write_figures, write_page

        write_page(results, out / 'index.html', f'dyn-nodes study run {" ".join(args.names)}')
        write_figures(results, out)
        (out / 'claims.json').write_text(json_text(as_json(results)) + '\n', encoding='utf-8')
        if not args.json:
            print(f'page: {out / "index.html"}')
    return 0 if all(result.passed for result in results) else 1


def _print_result(result: object) -> None:
    from rich.text import Text

    from dyn_nodes.studies.framework import StudyResult
    from dyn_nodes.studies.page import shown

    assert isinstance(result, StudyResult)
    console = tables.console(140)
    rows = []
    for claim in result.claims:
        verdict = Text('holds', style='green') if claim.passed else Text('fails', style='red')
        cells = (claim.claim, claim.source, *(shown(v) for v in (claim.expected, claim.value, claim.tolerance)))
        rows.append((*cells, verdict))
    title = f'{result.study.name}: {result.study.title} ({result.seconds:.1f} s)'
    console.print(tables.table(rows, ('claim', 'source', 'expected', 'value', 'tolerance', ''), title))
    for note in result.notes:
        console.print(note, style='dim')
