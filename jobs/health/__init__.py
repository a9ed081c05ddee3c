"""Whether this process lives (``/healthz``) and whether it can serve (``/readyz``)."""
