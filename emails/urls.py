"""
The public address of the email queue: unsubscription.

``path("mail/", include("emails.urls"))`` in the project's URLs.
"""

from __future__ import annotations

from django.urls import path

from emails.views import UnsubscribeView

app_name = "emails"
urlpatterns = [path("unsubscribe/<str:token>/", UnsubscribeView.as_view(), name="unsubscribe")]
