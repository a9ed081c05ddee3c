"""
What is wrong with the background work, since when, and who was told.

facts      what the rules look at, as plain values
rules      pure functions: facts in, a judgement per subject out
snapshot   reads the facts, bounded, by index
evaluate   opens and resolves alerts by the judgements
notifying  tells each channel once of an opening and once of a resolving
checking   the same judgements without writing anything, for ``check_jobs`` and ``/jobz``

An alert's subject is a job id, a queue, a declared backup, or ``-`` for all workers.
"""
