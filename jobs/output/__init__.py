"""
How the engine's commands speak: tables for people, one JSON object for programs.

Results go to the standard output and nothing else does; notices go to the standard error.
"""
