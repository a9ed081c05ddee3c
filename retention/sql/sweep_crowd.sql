-- Lists where due rows of one age lie, for the batches that delete them by their places.
-- In the index they have no order that a batch could carry on in. Each would walk over all those
-- deleted before it, which an old snapshot keeps: the last ten of 50 batches of one instant took
-- about three times as long as the first ten.
-- It locks nothing and promises nothing: a batch locks what it deletes, and looks again at it.
SELECT array_to_string(ARRAY (
  {due}
  LIMIT {limit}
), ' ')
