"""
The email queue.

Mail is written in the caller's transaction and delivered by the job ``emails.processor``,
at least once. The finished bytes are stored when the mail is queued, so that every retry
sends the identical message.
"""
