"""The stores that these tests run against."""

from tests.stores.fixtures import *  # noqa: F403
