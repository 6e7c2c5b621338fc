"""Manual driving: valve voltages from a gamepad or a keyboard, safe for any input."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dyn_nodes.control.lever_pattern import Lever, LeverPattern, shape

FAREWELL = 0.5
"""Time for which neutral is commanded after the end of driving, s."""
FIRST_PRESS, REPEAT = 0.6, 0.18
"""Time for which a key acts after its first press and after a repeat, s: a terminal does not report its release. The
first one spans the delay before a keyboard repeats."""

ESCAPE = '\x1b'


class KeyReader:
    """Extracts single keys from terminal input: characters of escape sequences (arrows, function keys) are ignored.

    A sequence may arrive in parts. Blank and control characters always pass.
    """

    def __init__(self) -> None:
        self._sequence = ''

    def keys(self, typed: str) -> str:
        """Return the single keys of the next input."""
        return ''.join(key for key in typed if self._is_single(key))

    def _is_single(self, key: str) -> bool:
        sequence, self._sequence = self._sequence, ''
        if key == ESCAPE:
            self._sequence = ESCAPE
            return False
        if key <= ' ' or not sequence:
            return True
        if sequence == ESCAPE:
            self._sequence = {'[': '[', 'O': 'O'}.get(key, '')  # otherwise a key with Alt
        elif sequence == '[':
            self._sequence = 'O' if key == '[' else '1' if key < '@' else ''  # [[: one more character, as after O
        elif sequence == '1':
            self._sequence = '1' if key < '@' else ''
        return False


class Joystick:
    """A gamepad with a dead-man button.

    A lever acts only while the button is held and messages arrive, and only after it has been in its middle since the
    button was pressed: a deflected lever cannot start a motion. At the start, after a timeout and after a fault the
    button must be released first: a stuck button does not count.

    Args:
        names: of the valves, in the order of the command.
        pattern: of the levers.

    Attributes:
        held: the dead-man button is held and messages arrive.
        fault: fault of the last message, or ''.
        stuck: the button is down and does not count, as it has not been released.
        overrides: the button of the override was pressed while the dead-man button was held, and both are held.
    """

    def __init__(self, names: Sequence[str], pattern: LeverPattern) -> None:
        self.names, self.pattern = tuple(names), pattern
        self.held = self.stuck = self.overrides = self._may_override = False
        self.fault = ''
        self._was_up = False
        self._values = dict.fromkeys(self.names, 0.0)
        self._blocked: set[str] = set()
        self._received = -math.inf
        self._released = -math.inf

    def message(self, axes: Sequence[float], buttons: Sequence[int], now: float) -> None:
        """Process a message at a wall time, s. An invalid one ends driving."""
        if self.timed_out(now):
            self._lose(now)
        self._received = now
        self.fault = self._fault_of(axes, buttons)
        if self.fault:
            self._lose(now)
            return
        is_down = bool(buttons[self.pattern.dead_man_button])
        self._was_up = self._was_up or not is_down
        self.stuck = not self._was_up
        if not is_down or self.stuck:
            self._release(now)
            return
        if not self.held:
            self._blocked = set(self.pattern.levers)
        self.held = True
        is_pressed = self.pattern.override_button is not None and bool(buttons[self.pattern.override_button])
        self._may_override = self._may_override or not is_pressed
        self.overrides = is_pressed and self._may_override
        for name, lever in self.pattern.levers.items():
            effect = 0.0
            if lever.axis is not None:
                effect = shape(float(axes[lever.axis]), self.pattern.dead_band, self.pattern.expo)
            if effect == 0.0:
                self._blocked.discard(name)
            self._values[name] = 0.0 if name in self._blocked else lever.sign * lever.volts * effect

    def _fault_of(self, axes: Sequence[float], buttons: Sequence[int]) -> str:
        for button in (self.pattern.dead_man_button, self.pattern.override_button):
            if button is not None and button >= len(buttons):
                return f'joy: no button {button}: it has {len(buttons)}'
        for name, lever in self.pattern.levers.items():
            if lever.axis is not None and lever.axis >= len(axes):
                return f'joy: no axis {lever.axis} for {name}: it has {len(axes)}'
            if lever.axis is not None and not math.isfinite(axes[lever.axis]):
                return f'joy: axis {lever.axis} for {name}: expected a finite number, found {axes[lever.axis]}'
        return ''

    def _release(self, now: float) -> None:
        if self.held:
            self._released = now
        self.held = self.overrides = self._may_override = False
        self._values = dict.fromkeys(self.names, 0.0)

    def _lose(self, now: float) -> None:
        """Release, until the button has been up."""
        self._release(now)
        self._was_up = self.stuck = False

    def waiting(self) -> list[str]:
        """Return the levers that do not act yet because they have not been in their middle."""
        return sorted(self._blocked) if self.held else []

    def timed_out(self, now: float) -> bool:
        """Return whether messages have timed out; False before the first one."""
        return math.isfinite(self._received) and now - self._received > self.pattern.timeout

    def command(self, now: float) -> list[float] | None:
        """Return the voltages to send now; None: send nothing."""
        if self.timed_out(now):
            self._lose(now)
        if self.held or now - self._released <= FAREWELL:
            return [self._values[name] for name in self.names]
        return None


class Keyboard:
    """Keys that act while they are held, as far as a terminal reports.

    Args:
        names: of the valves, in the order of the command.
        levers: by name; levers without keys are ignored.
        throw: part of a lever's volts.
    """

    def __init__(self, names: Sequence[str], levers: dict[str, Lever], throw: float = 0.5) -> None:
        self.names, self.levers, self.throw = tuple(names), levers, throw
        self._keys: dict[str, tuple[str, float]] = {}
        for name, lever in levers.items():
            for key, sign in zip(lever.keys, (1.0, -1.0)):
                self._keys[key] = (name, sign)
        self._active: dict[str, tuple[float, float]] = {}
        self._pressed = -math.inf
        self._sends = False

    def type_key(self, key: str, now: float) -> bool:
        """Process a key. Return False if it has no function."""
        if key == ' ':
            self._active = {}
            return True
        if key.isdecimal():
            self.throw = 1.0 if key == '0' else int(key) / 10.0
            return True
        name, sign = self._keys.get(key.lower(), ('', 0.0))
        if not name:
            return False
        before = self._active.get(name)
        repeated = before is not None and before[0] == sign and now < before[1]
        self._active[name] = (sign, now + (REPEAT if repeated else FIRST_PRESS))
        self._pressed = now
        return True

    def values(self, now: float) -> dict[str, float]:
        """Return the voltage of every valve now."""
        self._active = {name: entry for name, entry in self._active.items() if now < entry[1]}
        result = dict.fromkeys(self.names, 0.0)
        for name, (sign, _) in self._active.items():
            result[name] = sign * self.throw * self.levers[name].volts
        return result

    def command(self, now: float) -> list[float] | None:
        """Return the voltages to send now; None if no key was pressed for a while.

        The first ones after a pause are neutral, as receivers require before a motion.
        """
        is_first, self._sends = not self._sends, now - self._pressed <= FIRST_PRESS + FAREWELL
        if not self._sends:
            return None
        values = dict.fromkeys(self.names, 0.0) if is_first else self.values(now)
        return [values[name] for name in self.names]

    def help(self) -> list[str]:
        """Return a line of help for each pair of keys."""
        lines = []
        for name, lever in self.levers.items():
            if lever.keys:
                lines.append(f'{lever.keys[0]}  {name} {lever.positive}    {lever.keys[1]}  {name} {lever.negative}')
        return [*lines, '1 to 9, 0  throw 10 to 90, 100 %    blank  neutral    q  quit']
