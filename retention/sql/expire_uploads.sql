-- Reservations whose time is over, a batch of them, from pending to expiring.
-- A finaliser goes from pending to completing by a guarded UPDATE of its own: one of the two
-- finds the row in another state. A finaliser whose claim has ended may be dead.
UPDATE upload_reservations
SET status = 'expiring', claim_token = NULL, claimed_until = NULL
WHERE id = ANY (ARRAY(
  SELECT id FROM upload_reservations
  WHERE expires_at <= %(now)s
    AND (status = 'pending' OR (status = 'completing' AND claimed_until <= %(now)s))
  ORDER BY expires_at
  LIMIT %(limit)s
  FOR UPDATE SKIP LOCKED
))
RETURNING id
