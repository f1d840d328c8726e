"""Runs one server of OpenStack Swift with a configuration in a private folder; by itself it would look into /etc."""
import os
import sys

import swift.common.storage_policy as storage_policy
import swift.common.utils as utils

folder, name, section = sys.argv[1:4]
utils.SWIFT_CONF_FILE = storage_policy.SWIFT_CONF_FILE = os.path.join(folder, "swift.conf")
storage_policy.reload_storage_policies()

from swift.common.wsgi import run_wsgi  # noqa: E402

sys.exit(run_wsgi(os.path.join(folder, name + ".conf"), section))
