"""Run notebooks without Jupyter: cells in order in one process; with --write their outputs go into the files.

python examples/notebooks/run.py --write [NOTEBOOK ...]

Cells are Python, whose last expression is shown, and lines of a shell behind `!`. Figures become small pictures.
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def run_notebook(notebook: dict[str, Any], directory: Path) -> list[list[dict[str, Any]]]:
    """Return the outputs of every cell, in nbformat's form.

    Args:
        notebook: content of the file.
        directory: that the cells run in.

    Raises:
        subprocess.CalledProcessError: a line of a shell fails. Whatever a cell raises.
    """
    names: dict[str, Any] = {'__name__': '__main__'}
    with contextlib.chdir(directory) if sys.version_info >= (3, 11) else _inside(directory):
        return [
            _run_cell(''.join(cell['source']), names) if cell['cell_type'] == 'code' else []
            for cell in notebook['cells']
        ]


def _run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    printed = io.StringIO()
    shown = None
    with contextlib.redirect_stdout(printed):
        if source.startswith('!'):
            for line in source.splitlines():
                print(_shell(line.removeprefix('!')), end='')
        else:
            tree = ast.parse(source)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, '<cell>', 'exec'), names)
            if last is not None:
                shown = eval(compile(ast.Expression(last.value), '<cell>', 'eval'), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({'output_type': 'stream', 'name': 'stdout', 'text': _lines(printed.getvalue())})
    if shown is not None and not source.rstrip().endswith(';'):
        outputs.append(
            {'output_type': 'execute_result', 'execution_count': None, 'metadata': {}, 'data': _display(shown)}
        )
    return outputs


def _shell(command: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ['PATH']])
    environment = {**os.environ, 'PATH': path, 'COLUMNS': '100'}
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout


def _display(shown: Any) -> dict[str, Any]:
    data: dict[str, Any] = {'text/plain': _lines(repr(shown))}
    if hasattr(shown, 'savefig'):
        picture = io.BytesIO()
        shown.savefig(picture, format='png', dpi=72)
        data['image/png'] = base64.b64encode(picture.getvalue()).decode()
    elif hasattr(shown, '_repr_html_'):
        data['text/html'] = _lines(shown._repr_html_())
    return data


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


@contextlib.contextmanager
def _inside(directory: Path) -> Any:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> None:
    """Run notebooks in empty directories."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('notebooks', nargs='*', type=Path, help='files (all beside this one)')
    parser.add_argument('--write', action='store_true', help='write the outputs into the files')
    options = parser.parse_args()
    for path in options.notebooks or sorted(HERE.glob('*.ipynb')):
        notebook = json.loads(path.read_text(encoding='utf-8'))
        with tempfile.TemporaryDirectory() as directory:
            outputs = run_notebook(notebook, Path(directory))
        if options.write:
            code = [cell for cell in notebook['cells'] if cell['cell_type'] == 'code']
            found = [own for own, cell in zip(outputs, notebook['cells']) if cell['cell_type'] == 'code']
            for number, (cell, own) in enumerate(zip(code, found), 1):
                cell['execution_count'], cell['outputs'] = number, own
                for output in own:
                    if 'execution_count' in output:
                        output['execution_count'] = number
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + '\n', encoding='utf-8')
        print(f'{path.name}: {len(outputs)} cells')


if __name__ == '__main__':
    main()
