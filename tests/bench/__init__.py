"""
The benchmark: what the engine does in a second, beside the limit of the same machine.

``python -m tests.bench`` prints a table and writes ``bench.json``. Every figure has its
counterpart from the same run, since figures of different machines or hours say little.
"""
