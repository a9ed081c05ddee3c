"""Changes written to an outbox, delivered to exactly the clients who may see them."""
