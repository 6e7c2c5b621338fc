"""Forward dynamics of many states in one call, checked by inverse dynamics."""

import time

import numpy as np

import dyn_nodes as dn


def main(count: int = 10_000) -> float:
    """Compute the accelerations of random states; return the greatest relative error of the efforts they give back."""
    dynamics = dn.load('log_loader').dynamics(payload=500.0)
    random = np.random.default_rng(0)
    nq, nv = len(dynamics.position_names), len(dynamics.velocity_names)
    q, v = random.normal(size=(count, nq)), random.normal(size=(count, nv))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)  # the quaternion of the base
    tau = 1e4 * random.normal(size=(count, nv))

    dynamics.forward(q, v, tau)  # the first call compiles
    begin = time.perf_counter()
    a = dynamics.forward(q, v, tau)
    seconds = time.perf_counter() - begin
    error = float(np.abs(dynamics.inverse(q, v, a) - tau).max() / np.abs(tau).max())
    print(f'{count} states in {1e3 * seconds:.1f} ms; inverse dynamics gives the efforts back to {error:.1e}')
    return error


if __name__ == '__main__':
    main()
