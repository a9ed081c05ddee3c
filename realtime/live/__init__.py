"""The page that shows the job console changing as runs happen, by this package's own means."""
