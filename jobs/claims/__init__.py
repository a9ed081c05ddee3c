"""Taking rows and letting go of them."""

from jobs.claims.claim import Claim, claim_rows
from jobs.claims.policy import Arm, ClaimPolicy, Counts, Lease, StaleAfter

__all__ = ["Arm", "Claim", "ClaimPolicy", "Counts", "Lease", "StaleAfter", "claim_rows"]
