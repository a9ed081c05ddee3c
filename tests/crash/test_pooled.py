"""Real workers behind a real pgbouncer that pools transactions; collected where there is one."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from django.db import connection

import emails
from emails.models import EmailJob
from jobs.models import JobRun, Worker
from tests.conftest import wait_until
from tests.crash.health_pages import health
from tests.crash.mails import message
from tests.jobs.conftest import PGBOUNCER
from tests.jobs.tcp_proxy import TcpProxy, password_of
from tests.testapp.models import Delivery, Parcel

JOB = "scheduled.second"
CONFIGURATION = """
[databases]
{name} = host=127.0.0.1 port={upstream} dbname={name} {login}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
server_tls_sslmode = disable
ignore_startup_parameters = extra_float_digits,options
"""


@pytest.fixture
def pooled_url(transactional_db):
    """Start pgbouncer before the test database; give the URL through it."""
    database = connection.settings_dict
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    file = folder / "pgbouncer.ini"
    login = {"user": database["USER"], "password": password_of(database)}
    with TcpProxy(database) as proxy:
        file.write_text(
            CONFIGURATION.format(
                name=database["NAME"],
                # It refuses empty values.
                login=" ".join(f"{key}='{value}'" for key, value in login.items() if value),
                upstream=proxy.port,
                port=port,
            )
        )
        # It refuses to run as root.
        user = "nobody" if os.geteuid() == 0 else None
        with subprocess.Popen([PGBOUNCER, "--quiet", str(file)], user=user) as process:
            try:
                wait_until(lambda: process.poll() is not None or answers(port))
                assert process.poll() is None
                yield f"postgres://{database['USER']}@127.0.0.1:{port}/{database['NAME']}"
            finally:
                process.terminate()
                process.wait(20)
                shutil.rmtree(folder)


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@pytest.mark.timeout(150)
@pytest.mark.skipif(not PGBOUNCER, reason="needs Debian's package pgbouncer")
def test_behind_a_transaction_pooler_everything_works_by_polling(
    pooled_url, make_sink, make_fleet, figures
):
    sink = make_sink()
    fleet = make_fleet(
        DATABASE_URL=pooled_url,
        EMAIL_DELIVERY_URL=sink.url,
        WORKER_HEALTH="127.0.0.1:0",
        SCHEDULED=json.dumps([{"id": JOB, "cadence": "every 1000"}]),
    )
    mails = [emails.enqueue(message(f"to+{number}@example.com")) for number in range(10)]
    Parcel.objects.bulk_create([Parcel(address="a") for _ in range(40)])
    jobs = ("emails.processor", "testapp.parcels", "testapp.stocktaking", JOB)

    workers = [fleet.start("--only", *jobs) for _ in range(2)]

    wait_until(lambda: EmailJob.objects.filter(status="sent").count() == len(mails))
    wait_until(lambda: Parcel.objects.filter(status="done").count() == 40)
    wait_until(lambda: JobRun.objects.filter(job_id=JOB, status="succeeded").count() >= 3)
    assert fleet.run("jobs", "run", "testapp.stocktaking", "--wait").wait() == 0
    # Its first probe does not come back within 9 s.
    wait_until(lambda: set(Worker.objects.values_list("listen", flat=True)) == {"polling"})
    status, page = health(workers[0], "/readyz")
    figures(listen=page["listen"], reasons=page["reasons"])
    assert (status, page["listen"], page["reasons"]) == (200, "polling", [])
    assert len(workers[0].lines("listen_polling")) == 1
    for worker in workers:
        assert worker.stop() == 0
        assert "Traceback" not in worker.output()
    assert set(sink.copies().values()) == {1}
    slots = list(Delivery.objects.filter(queue=JOB).values_list("row_id", flat=True))
    assert len(slots) == len(set(slots))
