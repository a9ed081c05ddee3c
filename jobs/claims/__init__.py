"""Taking rows and letting go of them."""

from jobs.claims.claim import Claim
from jobs.claims.policy import Arm, ClaimPolicy, Counts, Lease, StaleAfter
from jobs.claims.taking import claim_rows

__all__ = ["Arm", "Claim", "ClaimPolicy", "Counts", "Lease", "StaleAfter", "claim_rows"]
