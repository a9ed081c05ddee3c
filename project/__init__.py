"""This site: settings, addresses, the embedded PostgreSQL. Not part of the wheel."""
