"""The documentation site builds without warnings, needs no network, and agrees with the code."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from timeouts import scaled_timeout

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip('mkdocs')
pytest.importorskip('material')
FETCHED = re.compile(r'<(?:script|img|link|source|iframe)\b[^>]*?(?:src|href)="(https?:)?//[^"]*"')


QUESTIONS = {
    'does my machine tip': 'how_to/does_my_machine_tip.html',
    'tipping load': 'theory/tipping.html',
    'load chart': 'how_to/does_my_machine_tip.html',
    'oscillating axle': 'how_to/does_my_machine_tip.html',
    'outriggers': 'how_to/does_my_machine_tip.html',
    'static margin': 'theory/stability.html',
    'force-angle': 'theory/stability.html',
    'zmp': 'theory/stability.html',
    'governor': 'reference/governor.html',
    'what the governor does not cover': 'reference/governor.html',
    'stability monitor': 'reference/stability_monitor.html',
    'payload estimation': 'theory/payload.html',
    'CAN bus': 'how_to/can.html',
    'DBC': 'how_to/can.html',
    'commissioning': 'how_to/commissioning.html',
    'import a log': 'how_to/logs.html',
    'record a bag': 'how_to/logs.html',
    'gamepad': 'tutorials/operator.html',
    'cockpit': 'reference/cockpit.html',
    'ros2_control': 'tutorials/with_ros2.html',
    'RViz': 'reference/cockpit.html',
    'ROS 2 workspace': 'tutorials/with_ros2.html',
    'my own URDF': 'tutorials/bring_your_own_machine.html',
    'dyn-nodes init first machine YAML': 'tutorials/bring_your_own_machine.html',
    'machine YAML': 'reference/machine_yaml.html',
    'valve flow': 'theory/hydraulics.html',
    'LuGre': 'theory/contact.html',
    'odometry and slip': 'reference/vehicles.html',
    'omnidirectional wheels': 'how_to/omnidirectional_design.html',
    'redundant constraints': 'reference/constraints.html',
    'sweep': 'how_to/sweeps.html',
    'linear model': 'reference/linear_models.html',
    'poles and modes': 'reference/linear_models.html',
    'identification': 'how_to/identification.html',
    'inverse kinematics': 'reference/hand_control.html',
    'deformable object': 'reference/teams.html',
    'nodes and topics': 'reference/nodes.html',
    'QoS overrides': 'reference/middleware.html',
    'mass_matrix': 'reference/api.html',
    'lockstep': 'reference/nodes.html',
    'MuJoCo': 'how_to/coming_from.html',
    'error message': 'how_to/troubleshooting.html',
    'glossary': 'reference/glossary.html',
}
"""Questions to the search of the site, and the page that should be its first result."""


@pytest.fixture(scope='module')
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp('site')
    command = [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(folder)]
    environment = {**os.environ, 'NO_MKDOCS_2_WARNING': '1'}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert 'WARNING' not in done.stderr
    return folder


def pages(site: Path) -> dict[str, str]:
    return {str(path.relative_to(site)): path.read_text() for path in site.rglob('*.html')}


def test_every_theory_page_opens_with_its_symbols_and_has_its_equations(site):
    for name in ('theory/multibody', 'theory/contact', 'theory/hydraulics', 'theory/stability'):
        text = (site / f'{name}.html').read_text()
        table = text.index('<th>Symbol</th>')
        for heading in ('Size', 'Description', 'name in code'):
            assert f'<th>{heading}</th>' in text[table : table + 400]
        assert '<h2' not in text[text.index('<h1') : table], 'the table comes first'
        assert text.count('<math') >= 8
        assert 'class="arithmatex"' not in text, 'an equation that was not rendered'


def test_nothing_is_fetched_when_a_page_is_read(site):
    for name, text in pages(site).items():
        assert not FETCHED.search(text), f'{name}: {FETCHED.search(text).group(0)}'
    styles = ''.join(path.read_text() for path in site.rglob('*.css'))
    assert not re.search(r'@import|url\(["\']?(https?:)?//', styles)


def test_links_between_pages_and_pictures_exist(site):
    for name, text in pages(site).items():
        if name == '404.html':
            continue
        for link in re.findall(r'(?:href|src)="([^"#?:]+)["#?]', text):
            assert ((site / name).parent / link).resolve().exists(), f'{name}: {link}'


def test_the_site_has_pages_generated_from_data(site):
    assert '<dt><code>bring_down</code></dt>' in (site / 'reference' / 'parameters.html').read_text()
    assert 'pinocchio' in (site / 'verification' / 'witnesses.html').read_text()
    for page in (ROOT / 'docs' / 'sources').glob('*.md'):
        text = (site / 'verification' / f'reference_numbers_{page.stem}.html').read_text()
        assert re.search(r'(\d+) of \1 rows are pinned', text), page.stem


@pytest.mark.parametrize(
    'page',
    [
        'theory/multibody',
        'theory/contact',
        'theory/hydraulics',
        'theory/stability',
        'sources/abo_shanab_2003',
        'contributing/compile',
    ],
)
def test_code_names_on_pages_exist_in_the_code(page):
    """The last column of the table of symbols: identifiers, methods, keys."""
    source = '\n'.join(path.read_text() for path in (ROOT / 'dyn_nodes').rglob('*.py'))
    rows = re.findall(r'^\|.*\|(.*)\|$', (ROOT / 'docs' / f'{page}.md').read_text(), re.MULTILINE)
    names = [name for row in rows for name in re.findall(r'`([A-Za-z_.]+)(?:\(\))?`', row)]
    assert names
    for name in names:
        for part in name.split('.'):
            assert re.search(rf'\b{part}\b', source), name


def test_every_page_of_theory_and_of_a_source_has_a_picture():
    pages = [*(ROOT / 'docs' / 'theory').glob('*.md'), *(ROOT / 'docs' / 'sources').glob('*.md')]
    assert [page.stem for page in pages if '![' not in page.read_text()] == []


def test_every_node_is_in_the_reference():
    text = (ROOT / 'docs' / 'reference' / 'nodes.md').read_text()
    nodes = {path.stem for path in (ROOT / 'dyn_nodes' / 'nodes').glob('*_node.py')}
    assert nodes <= set(re.findall(r'^## (\w+_node)$', text, re.MULTILINE))


def test_the_types_of_the_reference_are_message_types():
    definitions = importlib.import_module('roslite.runtime.types')
    text = (ROOT / 'docs' / 'reference' / 'nodes.md').read_text()
    types = set(re.findall(r'\[(\w+/(?:msg|srv)/\w+)\]', text))
    assert len(types) > 15
    for name in types:
        package, kind, message = name.split('/')
        assert (definitions.message if kind == 'msg' else definitions.service)(name), (package, message)


@pytest.fixture(scope='module')
def browser():
    sys.path.insert(0, str(ROOT / 'test' / 'viewer'))
    from chromium import Chromium, find_chromium

    program = find_chromium()
    if program is None:
        pytest.skip('no Chromium')
    with Chromium(program, 1400, 900) as one:
        yield one


RESULTS = "[...document.querySelectorAll('.md-search-result__item')].map(item => item.querySelector('a').href)"


def search(browser, text: str) -> list[str]:
    """Return the addresses of the results, best first; waits until they no longer change."""
    browser.evaluate(
        "(() => { const field = document.querySelector('.md-search__input');"
        "field.value = ''; field.focus(); field.select(); })()"
    )
    browser.call('Input.insertText', text=text)
    browser.evaluate("document.querySelector('.md-search__input').dispatchEvent(new Event('keyup'))")
    results, equal = [], 0
    deadline = time.monotonic() + scaled_timeout(60.0)
    while equal < 5 and time.monotonic() < deadline:
        time.sleep(0.12)
        latest = browser.evaluate(RESULTS)
        equal = equal + 1 if latest and latest == results else 0
        results = latest
    return results


def test_search_gives_the_right_page_first(site, browser):
    browser.open((site / 'index.html').as_uri())
    browser.wait_for("!!document.querySelector('.md-search__input')")
    search(browser, 'the first search loads the index')
    assert len(QUESTIONS) >= 40
    wrong = {}
    for question, page in QUESTIONS.items():
        results = search(browser, question)
        first = results[0].split('#')[0].split('?')[0] if results else ''
        if first != (site / page).as_uri():
            wrong[question] = first
    assert wrong == {}


def test_search_works_in_pages_from_the_disk(site, browser):
    browser.open((site / 'index.html').as_uri())
    browser.wait_for("!!document.querySelector('.md-search__input')")
    browser.evaluate("document.querySelector('.md-search__input').focus()")
    browser.call('Input.insertText', text='mass_matrix')
    results = browser.wait_for(
        "[...document.querySelectorAll('.md-search-result__item a')].map(a => a.href).join(' ')", timeout=60.0
    )
    assert f'{(site / "reference" / "api.html").as_uri()}#dyn_nodes.Dynamics.mass_matrix' in results
    assert not browser.errors
    assert all(address.startswith(('file:', 'data:', 'about:')) for address in browser.requests)


def test_formulas_have_the_math_font(site, browser):
    browser.open((site / 'theory' / 'hydraulics.html').as_uri())
    browser.wait_for("!!document.querySelector('math')")
    loaded = """document.fonts.load("16px 'site math'").then(fonts => fonts.length)"""
    assert browser.evaluate(loaded) == 1
    assert 'site math' in browser.evaluate("getComputedStyle(document.querySelector('math')).fontFamily")


@pytest.mark.parametrize('page', ['machine_yaml', 'library', 'command_line'])
def test_identifiers_in_tables_stay_on_one_line(site, browser, page):
    browser.open((site / 'reference' / f'{page}.html').as_uri())
    browser.wait_for("!!document.querySelector('table code.word')")
    broken = browser.evaluate(
        "[...document.querySelectorAll('table code.word')].filter(own => own.getClientRects().length > 1)"
        '.map(own => own.textContent)'
    )
    assert broken == []
