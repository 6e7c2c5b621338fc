"""Colours that are distinguishable with any colour vision (Okabe and Ito), and text colours for them."""

from __future__ import annotations

from dyn_nodes.measures import CAUTION, DANGER, OK

Rgb = tuple[int, int, int]

GREEN: Rgb = (0, 158, 115)
AMBER: Rgb = (230, 159, 0)
RED: Rgb = (213, 43, 30)
BLUE: Rgb = (0, 114, 178)
SKY: Rgb = (86, 180, 233)
PURPLE: Rgb = (204, 121, 167)
YELLOW: Rgb = (240, 228, 66)
GREY: Rgb = (100, 104, 110)
DARK: Rgb = (24, 27, 32)
WHITE: Rgb = (255, 255, 255)
SERIES: tuple[Rgb, ...] = (BLUE, AMBER, GREEN, PURPLE, SKY, RED, DARK, YELLOW)

BAND_TEXT: dict[str, str] = {OK: 'inherit', CAUTION: '#8a5a00', DANGER: '#c02519'}
"""Text colours of bands on white, contrast at least 5.6; the contrast of AMBER is 2.2."""
BAND: dict[str, Rgb] = {OK: GREEN, CAUTION: AMBER, DANGER: RED}


def css(colour: Rgb) -> str:
    """Return a colour in CSS notation."""
    return f'#{colour[0]:02x}{colour[1]:02x}{colour[2]:02x}'


def contrast(first: Rgb, second: Rgb) -> float:
    """Return the contrast of two colours by WCAG 2, 1 to 21; text of any size requires 4.5 (level AA)."""
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def ink_on(colour: Rgb) -> Rgb:
    """Return the text colour for a background: white or dark, whichever has the greater contrast."""
    return max((WHITE, DARK), key=lambda ink: contrast(ink, colour))


def _luminance(colour: Rgb) -> float:
    """Return the relative luminance (WCAG 2) of an sRGB colour, 0 to 1."""
    parts = (part / 255.0 for part in colour)
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
