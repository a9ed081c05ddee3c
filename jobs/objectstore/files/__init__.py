"""A directory as an object store."""
