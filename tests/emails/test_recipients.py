"""What an attempt makes of a mail's recipients. Pure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emails.envelopes import DeliveryResult, RecipientResult
from emails.recipients import Verdict, pending_addresses, settle
from emails.replies import Outcome, Reply

REPLIES = {
    Outcome.ACCEPTED: Reply(code=250, text="taken"),
    Outcome.REFUSED: Reply(code=550, enhanced="5.1.1", text="nobody"),
    Outcome.RETRY: Reply(code=451, text="later"),
}


def pending(*names):
    return [{"address": f"{name}@example.com", "state": "pending"} for name in names]


def result(**outcomes):
    return DeliveryResult(
        recipients=tuple(
            RecipientResult(
                address=f"{name}@example.com",
                outcome=outcome,
                reply=REPLIES.get(outcome),
                detail="" if outcome in REPLIES else outcome.value,
            )
            for name, outcome in outcomes.items()
        )
    )


def states(settlement):
    return [item["state"] for item in settlement.recipients]


def test_a_mail_that_all_take_is_sent():
    settlement = settle(
        pending("a", "b"),
        result(a=Outcome.ACCEPTED, b=Outcome.ACCEPTED),
        attempts=0,
        max_attempts=5,
    )

    assert settlement.verdict is Verdict.SENT
    assert (settlement.outcome, settlement.problem, settlement.code) == ("", "", 250)
    assert states(settlement) == ["accepted", "accepted"]


def test_a_mail_that_some_refuse_is_sent_in_part():
    settlement = settle(
        pending("a", "b"),
        result(a=Outcome.ACCEPTED, b=Outcome.REFUSED),
        attempts=0,
        max_attempts=5,
    )

    assert (settlement.verdict, settlement.outcome) == (Verdict.SENT, "partial")
    assert settlement.problem == "b@example.com: 550 5.1.1 nobody"
    assert settlement.code == 550


def test_a_mail_that_all_refuse_is_dead():
    settlement = settle(pending("a"), result(a=Outcome.REFUSED), attempts=0, max_attempts=5)

    assert settlement.verdict is Verdict.DEAD


def test_a_recipient_to_be_tried_again_makes_a_retry_and_the_others_are_final():
    settlement = settle(
        pending("a", "b", "c"),
        result(a=Outcome.ACCEPTED, b=Outcome.RETRY, c=Outcome.REFUSED),
        attempts=0,
        max_attempts=5,
    )

    assert settlement.verdict is Verdict.RETRY
    assert pending_addresses(settlement.recipients) == ("b@example.com",)


def test_a_failure_of_the_channel_gives_the_mail_back():
    settlement = settle(pending("a"), result(a=Outcome.CHANNEL), attempts=4, max_attempts=5)

    assert settlement.verdict is Verdict.GIVE_BACK
    assert states(settlement) == ["pending"]


def test_at_the_last_attempt_whoever_is_pending_is_given_up_if_another_was_accepted():
    recipients = [{"address": "a@example.com", "state": "accepted"}, *pending("b")]

    settlement = settle(recipients, result(b=Outcome.RETRY), attempts=4, max_attempts=5)

    assert (settlement.verdict, settlement.outcome) == (Verdict.SENT, "partial")
    assert states(settlement) == ["accepted", "refused"]
    assert settlement.recipients[1]["text"].startswith("given up after 5 attempts: 451")


def test_at_the_last_attempt_a_mail_that_nobody_took_is_left_to_the_cap():
    settlement = settle(pending("a"), result(a=Outcome.RETRY), attempts=4, max_attempts=5)

    assert settlement.verdict is Verdict.RETRY


def test_an_answer_that_did_not_come_is_uncertain():
    settlement = settle(pending("a"), result(a=Outcome.UNCERTAIN), attempts=0, max_attempts=5)

    assert settlement.uncertain
    assert settlement.verdict is Verdict.RETRY


@given(
    before=st.lists(st.sampled_from(["pending", "accepted", "refused"]), min_size=1, max_size=6),
    outcomes=st.lists(st.sampled_from(list(Outcome)), min_size=6, max_size=6),
    attempts=st.integers(0, 4),
)
def test_what_was_final_stays_so_and_the_verdict_fits_what_is_left(before, outcomes, attempts):
    recipients = [
        {"address": f"r{place}@example.com", "state": state} for place, state in enumerate(before)
    ]
    tried = {
        f"r{place}": outcomes[place] for place, state in enumerate(before) if state == "pending"
    }

    settlement = settle(recipients, result(**tried), attempts=attempts, max_attempts=5)

    for old, new in zip(recipients, settlement.recipients, strict=True):
        assert new["address"] == old["address"]
        if old["state"] != "pending":
            assert new == old
    left = set(states(settlement))
    match settlement.verdict:
        case Verdict.SENT:
            assert "pending" not in left
            assert "accepted" in left
        case Verdict.DEAD:
            assert left == {"refused"}
        case Verdict.RETRY | Verdict.GIVE_BACK:
            assert "pending" in left
    assert (settlement.outcome == "partial") == ("refused" in left)
