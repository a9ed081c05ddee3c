"""Which models of the test app publish their changes."""

from __future__ import annotations

import realtime
from tests.testapp.models import Comment, Draft, Note, Notice


def readers_of_note(note: Note) -> list[str]:
    if note.title == "unreadable":
        raise ValueError(note.title)
    return [note.owner, *note.shares.values_list("user", flat=True)]


def readers_of_comment(comment: Comment) -> list[str]:
    return readers_of_note(comment.note)


realtime.declare_model(Note, topic="notes", fields=("title", "owner"), readers=readers_of_note)
realtime.declare_model(Comment, topic="comments", fields=("text",), readers=readers_of_comment)
realtime.declare_model(Notice, topic="notices", fields=("text",), readers=realtime.EVERYONE)
realtime.declare_model(Draft, topic="drafts", fields=("text",), readers=realtime.NOBODY)
