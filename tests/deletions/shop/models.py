"""Rows that refer to a user in every way that Django has."""

from __future__ import annotations

from django.conf import settings
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models


class Tag(models.Model):
    content_type = models.ForeignKey(ContentType, on_delete=models.CASCADE)
    object_id = models.BigIntegerField()
    target = GenericForeignKey("content_type", "object_id")


class Order(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    tags = GenericRelation(Tag)


class Line(models.Model):
    """A grandchild."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE)


class Comment(models.Model):
    """A tree of its own kind, whose user is kept by the root only."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE)
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE)


class Review(models.Model):
    """Stays, without its author."""

    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)


class Invoice(models.Model):
    """Must be kept, and so holds its user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.RESTRICT)


class Refund(models.Model):
    """Holds its order, and goes with the user all the same."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    order = models.ForeignKey(Order, on_delete=models.RESTRICT)


class Document(models.Model):
    title = models.TextField(default="")


class Contract(Document):
    """Has a parent table."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)


class Circle(models.Model):
    """A group that knows its members by a table of its own."""

    members = models.ManyToManyField(settings.AUTH_USER_MODEL)


class Call(models.Model):
    """One run of a step of the tests: what really happened."""

    id = models.BigAutoField(primary_key=True)
    step = models.TextField()
    user_id = models.TextField()
