-- Where the range that this transaction deleted ended; null when it went up to the cutoff.
SELECT nullif(current_setting('retention.ends_at'), {cutoff}::text)
