"""
Durable background work for Django on PostgreSQL alone.

Terms, used in code, tables, pages and docs alike:

job             a declared piece of background work with a stable id, such as
                ``emails.processor``
queue           a table whose rows are units of work
claim           taking rows for one worker, in one atomic statement
stale claim     a row left in ``processing`` by a worker that died: its
                ``claimed_at`` is older than ``WORKER_CLAIM_STALE_MS``, or its
                ``lease_expires_at`` has passed
lease,          a claim with an expiry that the living worker keeps moving
heartbeat       forward
claim token     a random value written by each claim statement; every later write
                of that attempt must match it (a fencing token)
slot            one instant at which a cron cadence is due
run             one execution of a job, a row of the ledger
ledger          the table ``job_runs``
inventory       the declarations of all jobs, joined to the ledger
trigger         why a run happened: ``schedule``, ``notify``, ``manual``,
                ``catch_up``, ``http``
dead letter     a row that will never be retried by itself
"""
