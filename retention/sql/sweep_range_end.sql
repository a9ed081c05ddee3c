-- Where the range that this transaction deleted ended; null when it went up to the cutoff, or
-- the deletion did not even look. A setting that was local to an earlier transaction is ''.
SELECT nullif(nullif(current_setting('retention.ends_at', true), ''), {cutoff}::text)
