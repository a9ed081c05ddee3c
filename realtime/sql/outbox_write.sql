-- Events into the outbox, in the caller's transaction and in the order given: their ids are
-- the order in which events of one key are delivered.
INSERT INTO realtime_outbox (topic, event, payload, audience, ordering_key)
SELECT given.topic, given.event, given.payload::jsonb, given.audience::jsonb, given.ordering_key
  FROM unnest(%(topics)s::text[], %(events)s::text[], %(payloads)s::text[],
              %(audiences)s::text[], %(ordering_keys)s::text[]) WITH ORDINALITY
       AS given (topic, event, payload, audience, ordering_key, place)
 ORDER BY given.place
RETURNING id
