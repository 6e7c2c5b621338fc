"""Take the picture of a report for the README, with Chromium or Chrome without a window.

python docs/report_image.py runs/latest/report.html docs/images/report.png
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
SIZE = '--window-size=1100,960'  # headline, numbers, first plot
FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', SIZE)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__)
        return 2
    page, picture = Path(arguments[0]).resolve(), Path(arguments[1])
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None or not page.is_file():
        print(f'expected one of {", ".join(BROWSERS)}' if page.is_file() else f'no such page: {page}', file=sys.stderr)
        return 1
    picture.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / 'shot.png'
        flags = [*FLAGS, f'--user-data-dir={folder}/profile', f'--screenshot={shot}']
        subprocess.run([browser, *flags, page.as_uri()], check=True, capture_output=True, timeout=120)
        Image.open(shot).convert('RGB').save(picture, optimize=True)
    print(f'{picture}: {picture.stat().st_size / 1024:.0f} KiB')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
