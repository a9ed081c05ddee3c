"""The commands of the email queue."""
