"""
OpenStack Swift with its S3 API: slow, and true to what S3 documents.

One replica of everything, in a directory; proxy, account, container and object server.
"""

from __future__ import annotations

import getpass
import subprocess
import sys
from pathlib import Path

import boto3
from botocore.config import Config

from tests.stores.processes import BIN, HOST, Server, free_ports

KEY, SECRET = "test:tester", "testing"
KINDS = ("account", "container", "object")

SWIFT_CONF = """\
[swift-hash]
swift_hash_path_prefix = engineroom
swift_hash_path_suffix = tests
[storage-policy:0]
name = gold
default = yes
"""
COMMON = """\
[DEFAULT]
bind_ip = {host}
bind_port = {port}
swift_dir = {directory}
devices = {directory}/devices
mount_check = false
workers = 0
user = {user}
log_level = WARNING
"""
STORAGE = (
    COMMON
    + """\
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
allow_versions = true
[{kind}-replicator]
"""
)
PROXY = (
    COMMON
    + """\
[pipeline:main]
pipeline = catch_errors healthcheck listing_formats bulk s3api tempauth versioned_writes \
symlink slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
# A server that was killed and is back is asked again at once.
error_suppression_interval = 0
error_suppression_limit = 1000000
conn_timeout = 2
node_timeout = 10
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
check_bucket_owner = false
s3_acl = false
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin .reseller_admin
[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_versioned_writes = true
allow_object_versioning = true
[filter:symlink]
use = egg:swift#symlink
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""
)


# In a process of its own: what Swift imports changes the sockets of the process.
MAKE_RINGS = """
import sys
from swift.common.ring import RingBuilder

directory, *servers = sys.argv[1:]
for server in servers:
    kind, port = server.split(":")
    builder = RingBuilder(4, 1, 1)
    device = {"id": 0, "region": 1, "zone": 1, "weight": 1, "device": "d1"}
    builder.add_dev(device | {"ip": "127.0.0.1", "port": int(port)})
    builder.rebalance()
    builder.get_ring().save(f"{directory}/{kind}.ring.gz")
"""


class Swift:
    """A whole Swift on ports of the loopback."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "devices" / "d1").mkdir(parents=True)
        (directory / "swift.conf").write_text(SWIFT_CONF)
        ports = dict(zip(("proxy", *KINDS), free_ports(4), strict=True))
        self.servers = {kind: self._server(kind, port) for kind, port in ports.items()}
        rings = [str(directory), *(f"{kind}:{ports[kind]}" for kind in KINDS)]
        subprocess.run([sys.executable, "-c", MAKE_RINGS, *rings], check=True, timeout=60)
        self.endpoint = (
            f"s3://{KEY.replace(':', '%3A')}:{SECRET}@{HOST}:{ports['proxy']}/?secure=off"
        )
        self.client = boto3.client(
            "s3",
            endpoint_url=f"http://{HOST}:{ports['proxy']}",
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
        )

    def start(self) -> None:
        for server in self.servers.values():
            server.launch()
        for server in self.servers.values():
            server.wait()

    def close(self) -> None:
        for server in self.servers.values():
            server.kill()

    def place_of(self, content: bytes) -> Path:
        """Return the directory of the one object with this content."""
        files = (self.directory / "devices" / "d1" / "objects").rglob("*.data")
        (place,) = (file.parent for file in files if file.read_bytes() == content)
        return place

    def _server(self, kind: str, port: int) -> Server:
        conf = self.directory / f"{kind}.conf"
        text = PROXY if kind == "proxy" else STORAGE
        conf.write_text(
            text.format(
                host=HOST,
                port=port,
                directory=self.directory,
                user=getpass.getuser(),
                kind=kind,
                secret=SECRET,
            )
        )
        command = [str(BIN / f"swift-{kind}-server"), str(conf)]
        return Server(command, port=port, log=self.directory / f"{kind}.log")
