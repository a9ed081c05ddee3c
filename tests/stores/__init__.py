"""Object stores that tests run against: real servers, started when a test first asks."""
