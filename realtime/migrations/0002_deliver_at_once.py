"""The function that delivers what needs no claim."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent.parent / "sql"
NAME = "realtime_deliver_at_once(integer, text, integer, timestamptz, bigint, bigint)"


class Migration(migrations.Migration):

    dependencies = [("realtime", "0001_initial")]

    operations = [
        migrations.RunSQL(
            (SQL / "deliver_at_once.sql").read_text(encoding="utf-8"), f"DROP FUNCTION {NAME}"
        ),
    ]
