"""The dynamics as C99 without dependencies, for a controller that has no Python; compiled and compared where cc is."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

import dyn_nodes as dn


def main(directory: str = 'runs/example_c') -> float:
    """Write `forward_dynamics.c`; return the greatest difference of the compiled function from the library."""
    machine = dn.load('arm_a6')
    kernel = machine.kernel('forward_dynamics')
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    source, library = folder / 'forward_dynamics.c', folder / 'forward_dynamics.so'
    source.write_text(kernel.c_source())
    print(f'{source}: {len(kernel.c_source().splitlines())} lines of C, sizes {kernel.sizes}')
    if shutil.which('cc') is None:
        return 0.0

    subprocess.run(['cc', '-std=c99', '-O2', '-shared', '-fPIC', source, '-o', library, '-lm'], check=True)
    function = ctypes.CDLL(str(library.resolve())).forward_dynamics
    n = len(machine.joints)
    inputs, a = [np.full(n, 0.2), np.full(n, -0.1), np.full(n, 5.0), kernel.parameters], np.empty(n)
    function(*(own.ctypes.data_as(ctypes.c_void_p) for own in (*inputs, a)))
    difference = float(np.abs(a - machine.dynamics().forward(*inputs[:3])).max())
    print(f'C against Python: {difference:.1e} rad/s2')
    return difference


if __name__ == '__main__':
    main()
