"""Makes the rings of OpenStack Swift in a private folder and runs its servers there; by themselves they would look into /etc.

What they import takes most of their start: it is imported once, and each server is a fork.
"""
import ctypes
import json
import os
import signal
import sys

import swift.common.storage_policy as storage_policy
import swift.common.utils as utils

folder, ports = sys.argv[1], json.loads(sys.argv[2])
utils.SWIFT_CONF_FILE = storage_policy.SWIFT_CONF_FILE = os.path.join(folder, "swift.conf")
storage_policy.reload_storage_policies()

from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.wsgi import run_wsgi  # noqa: E402

for name, port in ports.items():
    builder = RingBuilder(part_power=1, replicas=1, min_part_hours=0)
    builder.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "d1", "weight": 1})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, name + ".ring.gz"))

PR_SET_PDEATHSIG = 1
for name in ports:
    if os.fork() == 0:
        # They end with the one that forked them, however that ends.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        break
else:
    name = "proxy"

sys.exit(run_wsgi(os.path.join(folder, name + ".conf"), name + "-server"))
