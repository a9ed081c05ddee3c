"""Pieces of HTML for the console's templates."""

from __future__ import annotations

import datetime as dt
from typing import Any

import django
from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from jobs.markup import State, state_mark, time_tag, took

register = template.Library()


@register.simple_tag
def console_state(state: State) -> SafeString:
    """Draw a state as a shape and a word."""
    return state_mark(state)


@register.simple_tag
def console_time(at: dt.datetime | None, now: dt.datetime) -> SafeString:
    """Draw an instant, absolute and relative."""
    return time_tag(at, now=now)


@register.simple_tag
def console_local(local: str) -> SafeString:
    """Draw a wall-clock time with its offset, such as ``2026-12-02 02:00:00 +01:00``."""
    at = dt.datetime.fromisoformat(local)
    offset = at.strftime("%z")
    zone = f"{offset[:3]}:{offset[3:5]}"
    return format_html(
        '<time datetime="{}">{} {}</time>', local, f"{at:%a %Y-%m-%d %H:%M:%S}", zone
    )


@register.filter
def console_took(seconds: float | None) -> str:
    """Return a duration in words."""
    return took(seconds)


@register.simple_tag(takes_context=True)
def console_breadcrumbs(context: Any, title: str) -> SafeString:
    """Draw the way to this page, in the form that the installed Django draws it."""
    opts = context["opts"]
    app_name = str(opts.app_config.verbose_name)
    list_name = f"admin:{opts.app_label}_{opts.model_name}_changelist"
    steps = [
        (_path(context, "admin:index"), "Home"),
        (_path(context, "admin:app_list", opts.app_label), app_name),
        (_path(context, list_name), capfirst(str(opts.verbose_name_plural))),
    ]
    if django.VERSION >= (6, 1):
        items = format_html_join("\n", '<li><a href="{}">{}</a></li>', steps)
        last = format_html('<li aria-current="page">{}</li>', title)
        return format_html('<ol class="breadcrumbs">{}\n{}</ol>', items, last)
    items = format_html_join("", '<a href="{}">{}</a> &rsaquo; ', steps)
    return format_html('<div class="breadcrumbs">{}{}</div>', items, title)


def _path(context: Any, name: str, *arguments: str) -> str:
    current = getattr(context.get("request"), "current_app", None)
    return reverse(name, args=arguments, current_app=current)
