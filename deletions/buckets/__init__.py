"""
Deleting buckets: all objects, versions and pending uploads, then the bucket.

``deletions.delete_bucket`` queues one; the job ``deletions.buckets`` carries it out, so many at
a time over all processes.

| term | meaning |
|---|---|
| phase | what is being done: objects, versions, uploads, verify, bucket |
| batch | up to 1,000 keys, deleted by one request |
| confirmed | of a key: reported as deleted, and not listed any more |
| stuck | of a key: tried in this claim and still listed |
| progress | at least one more confirmed key; it sets the attempts back |
"""
