-- An audience that is missing or misspelt reaches nobody because the row is refused: a NULL
-- would pass a CHECK, hence the coalesce. A restricted delete or leave goes to the sockets
-- captured before it, since nobody can be asked about a row that is gone.
ALTER TABLE realtime_outbox
    ADD CONSTRAINT outboxevent_audience_has_mode CHECK (
        coalesce(audience ->> 'mode', '') IN ('disabled', 'all', 'restricted')
    ),
    ADD CONSTRAINT outboxevent_restricted_has_list CHECK (
        audience ->> 'mode' <> 'restricted'
        OR coalesce(jsonb_typeof(audience -> 'users'), '') = 'array'
        OR coalesce(jsonb_typeof(audience -> 'sids'), '') = 'array'
    ),
    ADD CONSTRAINT outboxevent_restricted_delete_has_sids CHECK (
        event NOT IN ('delete', 'leave')
        OR audience ->> 'mode' <> 'restricted'
        OR coalesce(jsonb_typeof(audience -> 'sids'), '') = 'array'
    );
