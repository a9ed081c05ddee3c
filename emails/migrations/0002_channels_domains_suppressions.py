

import django.db.models.fields.json
import django.db.models.functions.text
import jobs.clock
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('emails', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='EmailChannel',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('fingerprint', models.CharField(max_length=64, unique=True)),
                ('address', models.TextField()),
                ('failures', models.IntegerField(db_default=0)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('next_try_at', models.DateTimeField(blank=True, null=True)),
                ('probe_token', models.UUIDField(blank=True, null=True)),
                ('failed_at', models.DateTimeField(blank=True, null=True)),
                ('resumed_at', models.DateTimeField(blank=True, null=True)),
                ('last_code', models.SmallIntegerField(blank=True, null=True, verbose_name='last reply code')),
                ('last_error', models.TextField(blank=True, db_default='')),
            ],
            options={
                'verbose_name': 'mail channel',
                'db_table': 'email_channels',
                'permissions': (('resume_emailchannel', 'Can have a paused channel tried now'),),
            },
        ),
        migrations.CreateModel(
            name='EmailDomain',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('domain', models.TextField(unique=True)),
                ('failures', models.IntegerField(db_default=1)),
                ('throttled_at', models.DateTimeField()),
                ('next_allowed_at', models.DateTimeField()),
                ('last_code', models.SmallIntegerField(blank=True, null=True, verbose_name='last reply code')),
                ('last_error', models.TextField(blank=True, db_default='')),
            ],
            options={
                'verbose_name': 'throttled domain',
                'db_table': 'email_domains',
            },
        ),
        migrations.CreateModel(
            name='EmailSuppression',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('address', models.CharField(max_length=320)),
                ('reason', models.CharField(choices=[('hard_bounce', 'hard bounce'), ('complaint', 'complaint'), ('unsubscribe', 'unsubscribe'), ('erasure', 'erasure'), ('manual', 'manual')], max_length=16)),
                ('scope', models.CharField(choices=[('everything', 'everything'), ('lists', 'list mail')], max_length=16)),
                ('list_name', models.CharField(blank=True, db_default='', max_length=100, verbose_name='list')),
                ('until', models.DateTimeField(blank=True, null=True)),
                ('detail', models.TextField(blank=True, db_default='')),
                ('created_at', models.DateTimeField(db_default=jobs.clock.ClockDefault(), editable=False)),
            ],
            options={
                'verbose_name': 'suppressed address',
                'verbose_name_plural': 'suppressed addresses',
                'db_table': 'email_suppressions',
                'ordering': ('-id',),
                'permissions': (('suppress_emailsuppression', 'Can suppress addresses'), ('unsuppress_emailsuppression', 'Can take addresses off the suppression list')),
            },
        ),
        migrations.AlterModelOptions(
            name='emailjob',
            options={'ordering': ('-id',), 'permissions': (('retry_emailjob', 'Can retry mail'), ('cancel_emailjob', 'Can cancel mail'), ('resend_emailjob', 'Can resend copies of mail')), 'verbose_name': 'mail'},
        ),
        migrations.AddField(
            model_name='emailjob',
            name='is_list_mail',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='emailjob',
            name='list_name',
            field=models.CharField(blank=True, db_default='', max_length=100, verbose_name='list'),
        ),
        migrations.AddIndex(
            model_name='emailjob',
            index=models.Index(django.db.models.functions.text.Lower(django.db.models.fields.json.KeyTextTransform('address', django.db.models.fields.json.KeyTransform('0', 'recipients'))), condition=models.Q(('is_list_mail', True), ('status__in', ('pending', 'failed'))), name='email_jobs_list_waiting'),
        ),
        migrations.AddConstraint(
            model_name='emailchannel',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('failures', 0), ('next_try_at__isnull', True), ('paused_at__isnull', True)), models.Q(('failures__gt', 0), ('next_try_at__isnull', False), ('paused_at__isnull', False)), _connector='OR'), name='emailchannel_paused_has_next_try'),
        ),
        migrations.AddConstraint(
            model_name='emailsuppression',
            constraint=models.UniqueConstraint(fields=('address', 'reason', 'list_name'), name='email_suppressions_once'),
        ),
        migrations.AddConstraint(
            model_name='emailsuppression',
            constraint=models.CheckConstraint(condition=models.Q(('list_name', ''), ('scope', 'lists'), _connector='OR'), name='emailsuppression_list_has_scope'),
        ),
    ]
