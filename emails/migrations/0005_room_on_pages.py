"""Room for updates on their own page."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [("emails", "0004_ages")]

    operations = [
        # A mail on its way is marked twice where no index looks, and then no index is written
        # if its page has room: half of the WAL of a mail (1.3 kB for 2.8 kB, all of its way).
        migrations.RunSQL(
            "ALTER TABLE email_jobs SET (fillfactor = 70)",
            "ALTER TABLE email_jobs RESET (fillfactor)",
        ),
    ]
