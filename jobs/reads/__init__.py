"""
What the console shows, as plain functions that return values.

Pages, commands and tools call the same functions and show the same field names. Every item
carries ``admin_url``, its address in the console.
"""
