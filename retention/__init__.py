"""What is old is deleted, in small batches: rows, sessions, uploads never finished."""
