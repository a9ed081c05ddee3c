"""Mail sent over a few connections by one thread, what all of it has come to in one commit."""
