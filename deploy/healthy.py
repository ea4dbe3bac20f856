"""Says by its exit code whether the hub of this container is ready; asks by the name that the hub answers to."""

import http.client
import os
import sys

port = int(os.environ["STARLOOM_PORT"])
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
try:
    connection.request("GET", "/readyz", headers={"Host": f"127.0.0.1:{port}"})
    sys.exit(connection.getresponse().status != 200)
except OSError as error:
    sys.exit(f"the hub does not answer: {error}")
