"""Values are changed or added; the rest of a YAML file does not change."""

from __future__ import annotations

import pytest
import yaml

from dyn_nodes.analysis.yaml_edit import EditError, Value, with_values

TEXT = """\
# of the works
name: crane
defaults: {valve: {gain: 1.0e-3}}
actuators:
  boom:
    type: cylinder
    supply:
      flow: {value: 3.0e-3, assumed: 'a guess: by hand'}  # from the catalogue
      # last
    viscous:
      value: 4.0e4
      assumed: >
        the source
        neglects it

  stick: {type: cylinder, supply: {flow: 2.0e-3}}
wheels: &all
  front: {stiffness: 1.0}
others: *all
"""


def test_a_value_is_replaced_with_its_assumption_and_its_remark():
    path = ('actuators', 'boom', 'supply', 'flow')
    text = with_values(TEXT, {path: Value('2.9e-3', '+- 1e-5')})
    assert text == TEXT.replace(
        "{value: 3.0e-3, assumed: 'a guess: by hand'}  # from the catalogue", '2.9e-3  # +- 1e-5'
    )


def test_a_value_over_several_lines_is_replaced_and_the_line_behind_it_stays():
    text = with_values(TEXT, {('actuators', 'boom', 'viscous'): Value('5.0')})
    assert '    viscous: 5.0\n\n  stick: {type' in text
    assert yaml.safe_load(text)['actuators']['boom']['viscous'] == 5.0


def test_a_missing_key_is_added_in_the_layout_of_its_mapping():
    boom, stick = ('actuators', 'boom'), ('actuators', 'stick')
    values = {
        (*boom, 'valve', 'gain'): Value('1.0', 'r'),
        (*boom, 'valve', 'lag'): Value('2.0'),
        (*boom, 'supply', 'modulus'): Value('3.0'),
        (*stick, 'supply', 'modulus'): Value('4.0', 'no room for it'),
        (*stick, 'valve', 'gain'): Value('5.0'),
        ('gravity',): Value('9.8'),
    }
    text = with_values(TEXT, values)
    changed = yaml.safe_load(text)
    wanted = yaml.safe_load(TEXT)
    wanted['actuators']['boom'] |= {'valve': {'gain': 1.0, 'lag': 2.0}}
    wanted['actuators']['boom']['supply']['modulus'] = 3.0
    wanted['actuators']['stick'] |= {'supply': {'flow': 2e-3, 'modulus': 4.0}, 'valve': {'gain': 5.0}}
    wanted['gravity'] = 9.8
    assert changed == wanted
    assert '      gain: 1.0  # r\n' in text
    assert [line for line in TEXT.splitlines() if line not in text] == [
        '  stick: {type: cylinder, supply: {flow: 2.0e-3}}'
    ]


@pytest.mark.parametrize(
    ('path', 'message'),
    [
        (('name', 'x'), 'line 2: name: expected a mapping, found another value'),
        (('actuators', 'boom'), 'line 6: actuators.boom: expected a value, found a list or a mapping'),
        (
            ('wheels', 'front', 'stiffness'),
            'line 17: wheels: expected a mapping that no alias shares',
        ),
    ],
)
def test_an_impossible_change_is_reported_in_one_line(path, message):
    with pytest.raises(EditError) as error:
        with_values(TEXT, {path: Value('1.0')})
    assert str(error.value) == message
