"""
One-time links into the console.

A link is valid for 15 minutes and once. Opening it spends nothing, since link previews open
links too: the button on its page does. The table holds digests, never tokens.
"""
