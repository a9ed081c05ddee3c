"""The process that works: its loops, its threads, its end."""
