"""A node on the embedded runtime with a service, and with a client of a service of another process.

Prints each request, and once whether the other process offers `/theirs`.
"""

from __future__ import annotations

import contextlib

from dyn_nodes.middleware import ExternalShutdownException, Node, init, service, spin_once

SetBool = service('std_srvs/srv/SetBool')


def main() -> None:
    with init():
        node = Node('embedded')

        def switch(request: object, response: object) -> object:
            print('request', flush=True)
            return SetBool.Response(success=True, message='switched')

        node.create_service(SetBool, '/ours', switch)
        client = node.create_client(SetBool, '/theirs')
        print('theirs is ready:', client.wait_for_service(timeout_sec=3.0), flush=True)
        while True:
            spin_once(node, timeout_sec=0.1)


if __name__ == '__main__':
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        main()
