"""A program that prints its start conditions: a forked one must not differ from a started one."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import __main__

HANDLERS = ('SIGINT', 'SIGTERM', 'SIGPIPE', 'SIGCHLD', 'SIGUSR1')


def surroundings() -> dict[str, object]:
    here = os.getcwd()
    return {
        'name': __name__,
        'main': vars(__main__) is globals(),
        'words': sys.argv[1:],
        'file': os.path.basename(sys.argv[0]),
        'first path': sys.path[0] == here,
        'directory': here,
        'domain': os.environ.get('ROS_DOMAIN_ID'),
        'session': os.getsid(0) == os.getpid(),
        'priority': os.getpriority(os.PRIO_PROCESS, 0),
        'handlers': {name: str(signal.getsignal(getattr(signal, name))) for name in HANDLERS},
        'blocked': sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        'threads': threading.active_count(),
        'descriptors': sorted(int(name) for name in os.listdir('/proc/self/fd') if int(name) < 200)[:-1],
    }


def main() -> int:
    ending = sys.argv[1]
    print(json.dumps(surroundings()), flush=ending == 'wait')
    print('to standard error', file=sys.stderr)
    if ending == 'raise':
        raise ValueError('of the program')
    if ending == 'abort':
        os.abort()
    while ending == 'wait':
        signal.pause()
    return int(ending)


if __name__ == '__main__':
    sys.exit(main())
