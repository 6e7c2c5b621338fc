"""`dyn-nodes completion`: generates completion scripts for shells from the parsers."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dyn_nodes.commands import Subparsers, add_command

SHELLS = ('bash', 'zsh', 'fish')


@dataclass
class Words:
    """Words that may follow a command.

    Attributes:
        path: words of the command, such as `('study', 'run')`; () for the program.
        verbs: help of the sub-commands by name.
        options: help of the options by name.
        values: possible values of the arguments, such as machines; files are always possible.
        choices: possible values by option.
    """

    path: tuple[str, ...]
    verbs: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    choices: dict[str, list[str]] = field(default_factory=dict)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'completion',
        'Print a script that lets bash, zsh or fish complete commands.',
        'source <(dyn-nodes completion bash)\n'
        'dyn-nodes completion zsh > ~/.zfunc/_dyn-nodes\n'
        'dyn-nodes completion fish > ~/.config/fish/completions/dyn-nodes.fish',
    )
    parser.add_argument('shell', choices=SHELLS, metavar='SHELL', help='bash, zsh or fish')


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from dyn_nodes.cli import build_parser

    words = list(words_of(build_parser(), ()))
    sys.stdout.write({'bash': bash_script, 'zsh': zsh_script, 'fish': fish_script}[args.shell](words))
    return 0


def words_of(parser: argparse.ArgumentParser, path: tuple[str, ...]) -> Iterator[Words]:
    """Yield the words that may follow a command, then the words of its sub-commands."""
    entry, below = Words(path), []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            entry.verbs |= {choice.dest: choice.help or '' for choice in action._choices_actions}
            below += [words_of(child, (*path, name)) for name, child in action.choices.items()]
        elif action.option_strings:
            longest = max(action.option_strings, key=len)
            entry.options[longest] = (action.help or '').replace('%(default)s', str(action.default))
            if action.choices:
                entry.choices |= {option: [str(c) for c in action.choices] for option in action.option_strings}
            elif action.metavar == 'MACHINE':
                entry.choices[longest] = _machines()
        else:
            entry.values += [str(c) for c in action.choices or _named(str(action.metavar))]
    yield entry
    for words in below:
        yield from words


def _named(metavar: str) -> list[str]:
    return NAMES[metavar]() if metavar in NAMES else []


def _machines() -> list[str]:
    from dyn_nodes.model.named import packaged_machines

    return sorted(packaged_machines())


def _studies() -> list[str]:
    listing = importlib.import_module('dyn_nodes.studies.listing')  # no module imports studies
    names = list(listing.listed_studies())
    return [*names, *sorted({f'{name.partition("/")[0]}/all' for name in names}), 'all']


def _launch_files() -> list[str]:
    from dyn_nodes.common.share import share_directory

    return sorted(path.name.removesuffix('.launch.xml') for path in (share_directory() / 'launch').glob('*.launch.xml'))


def _nodes() -> list[str]:
    import pkgutil

    import dyn_nodes.nodes

    return sorted(
        module.name for module in pkgutil.iter_modules(dyn_nodes.nodes.__path__) if module.name[-5:] == '_node'
    )


NAMES: dict[str, Callable[[], list[str]]] = {
    'MACHINE': _machines,
    'STUDY': _studies,
    'FILE|NAME': _launch_files,
    'NODE': _nodes,
}
"""Functions that return the possible values of an argument, by its metavar."""


def bash_script(words: list[Words]) -> str:
    """Return the script for bash."""
    paths = ' '.join(_quoted(' '.join(entry.path)) for entry in words if entry.path)
    lines = [
        '# Completion of dyn-nodes for bash: source <(dyn-nodes completion bash)',
        '_dyn_nodes() {',
        '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" at="" next word known i',
        '    for ((i = 1; i < COMP_CWORD; i++)); do',
        '        next="${at:+$at }${COMP_WORDS[i]}"',
        f'        for known in {paths}; do',
        '            if [ "$next" = "$known" ]; then at="$next"; break; fi',
        '        done',
        '    done',
        '    word=""',
        '    case "$at|$before" in',
    ]
    for entry in words:
        at = ' '.join(entry.path)
        for option, choices in entry.choices.items():
            lines.append(f'        {_quoted(f"{at}|{option}")}) word={_quoted(" ".join(choices))} ;;')
    lines += ['    esac', '    if [ -z "$word" ]; then case "$at" in']
    for entry in words:
        offered = ' '.join([*entry.verbs, *entry.values])
        options = ' '.join(entry.options)
        lines.append(f'        {_quoted(" ".join(entry.path))})')
        lines.append(
            f'            case "$current" in -*) word={_quoted(options)} ;; *) word={_quoted(offered)} ;; esac ;;'
        )
    lines += [
        '    esac; fi',
        '    COMPREPLY=($(compgen -W "$word" -- "$current"))',
        '}',
        'complete -o default -F _dyn_nodes dyn-nodes',
    ]
    return '\n'.join(lines) + '\n'


def zsh_script(words: list[Words]) -> str:
    """Return the script for zsh, which runs the script for bash."""
    load = '(( $+functions[compdef] )) || compinit -u\nbashcompinit\n'
    return '#compdef dyn-nodes\nautoload -U +X compinit bashcompinit\n' + load + bash_script(words)


def fish_script(words: list[Words]) -> str:
    """Return the script for fish."""
    lines = [
        '# Completion of dyn-nodes for fish: dyn-nodes completion fish > ~/.config/fish/completions/dyn-nodes.fish',
        'function __dyn_nodes_at',
        '    set -l at',
        f'    set -l known {" ".join(_quoted(" ".join(entry.path)) for entry in words if entry.path)}',
        '    for word in (commandline -opc)[2..-1]',
        '        set -l next (string join " " $at $word)',
        '        if contains -- $next $known',
        '            set at $next',
        '        end',
        '    end',
        '    test "$at" = "$argv[1]"',
        'end',
    ]
    for entry in words:
        prefix = f'complete -c dyn-nodes -n {_quoted("__dyn_nodes_at " + _quoted(" ".join(entry.path)))}'
        if entry.verbs:
            lines += [f'{prefix} -f -a {_quoted(verb)} -d {_quoted(text)}' for verb, text in entry.verbs.items()]
        if entry.values:
            lines.append(f'{prefix} -a {_quoted(" ".join(entry.values))}')
        for option, text in entry.options.items():
            kind, name = ('-l', option[2:]) if option.startswith('--') else ('-s', option[1:])
            choices = entry.choices.get(option)
            values = f' -x -a {_quoted(" ".join(choices))}' if choices else ''
            lines.append(f'{prefix} {kind} {name}{values} -d {_quoted(text)}')
    return '\n'.join(lines) + '\n'


def _quoted(text: str) -> str:
    """Return a text in single quotes for bash and fish."""
    return "'" + text.replace('\\', '\\\\').replace("'", "'\\''") + "'" if "'" in text or '\\' in text else f"'{text}'"
