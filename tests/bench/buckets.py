"""Objects per second out of a local S3 server, beside a bare loop of list and batch delete."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
from botocore.config import Config
from django.db import connection

import deletions
from deletions.models import BucketDeletionJob
from jobs.objectstore import public_endpoint
from tests.bench import database
from tests.bench.workers import wait_until, workers
from tests.deletions.buckets.filling import lay_out
from tests.stores.processes import HOST
from tests.stores.rclone import KEY, SECRET, Rclone

JOB = "deletions.buckets"
BUCKET, WARM_UP = "bench", "warm-up"
IN_DIRECTORY = 1000
MEMORY = Path("/dev/shm")
LONGEST_SECONDS = 300.0
LASTED = "SELECT extract(epoch FROM done_at - created_at) FROM bucket_deletion_jobs WHERE id = %s"


def emptied_by_worker(*, count: int) -> float:
    """
    Return the objects per second of a worker, from the request to the row that says done.

    It counts the objects before, looks at versions and uploads, and removes the bucket.
    """
    database.execute("TRUNCATE bucket_deletion_jobs")
    database.empty()
    with _store(count) as store, workers(1, JOB, OBJECT_STORE_URL=store.endpoint):
        _delete(WARM_UP, store)  # a client is made once in the life of a worker
        job = _delete(BUCKET, store)
        with connection.cursor() as cursor:
            cursor.execute(LASTED, [job.pk])
            (lasted,) = cursor.fetchone()
    return count / float(lasted)


def emptied_by_boto3(*, count: int) -> float:
    """Return the objects per second of the least that can do it; nothing is counted or kept."""
    with _store(count) as store:
        client = boto3.client(
            "s3",
            endpoint_url=f"http://{HOST}:{store.server.port}",
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            config=Config(s3={"addressing_style": "path"}),
        )
        began = time.perf_counter()
        while found := client.list_objects_v2(Bucket=BUCKET).get("Contents"):
            keys = [{"Key": item["Key"]} for item in found]
            client.delete_objects(Bucket=BUCKET, Delete={"Objects": keys, "Quiet": True})
        client.delete_bucket(Bucket=BUCKET)
        return count / (time.perf_counter() - began)


@contextlib.contextmanager
def _store(count: int) -> Iterator[Rclone]:
    """Run a server whose bucket holds so many objects."""
    # In memory: files that reached the disk meanwhile take ten times as long to be deleted.
    memory = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        server = Rclone(Path(directory))
        keys = (f"{place // IN_DIRECTORY:03}/{place:06}" for place in range(count))
        lay_out(server.data / BUCKET, keys)
        lay_out(server.data / WARM_UP, ["a"])
        server.start()
        try:
            yield server
        finally:
            server.close()


def _delete(bucket: str, store: Rclone) -> BucketDeletionJob:
    """Queue the deletion of a bucket and wait until it is done."""
    job = deletions.delete_bucket(bucket, endpoint=public_endpoint(store.endpoint))
    done = BucketDeletionJob.objects.filter(pk=job.pk, status="done")
    wait_until(done.exists, seconds=LONGEST_SECONDS)
    return job
