"""Where uploads go that the store has no address for."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables

from jobs.failure import headline
from jobs.objectstore import ObjectTooBigError, StoreError
from retention.models import UploadReservation
from retention.uploads.address import name_of
from retention.uploads.receiving import Body, UploaderGoneError, open_reservation, receive

logger = logging.getLogger(__name__)


# The address is the permission: it comes with no session, from whatever uploads.
@method_decorator(csrf_exempt, name="dispatch")
class UploadView(View):
    """
    PUT stores the body as the staged object of the reservation: 204.

    404 for an address that was never given out, 410 when its time is over or it was used up, 400
    for fewer bytes than announced, 413 for more, 503 when the store cannot take it now.
    """

    http_method_names = ["put", "options"]

    @method_decorator(sensitive_variables("token"))
    def put(self, request: HttpRequest, token: str) -> HttpResponse:
        name = name_of(token)
        if name is None:
            return _answer(404, "There is no such upload.")
        row = open_reservation(name)
        if row is None:
            return _answer(410, "This upload is over.")
        announced = request.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced) > row.size:
            return _answer(413, f"No more than {row.size} bytes are expected.")
        return _store(row, request)


def _store(row: UploadReservation, request: HttpRequest) -> HttpResponse:
    try:
        is_whole = receive(row, Body(request=request))
    except ObjectTooBigError:
        return _answer(413, f"No more than {row.size} bytes are expected.")
    except UploaderGoneError as error:
        return _answer(400, str(error))
    except StoreError as error:
        logger.warning("upload_not_stored id=%s error=%s", row.pk, headline(error))
        return _answer(503, "It cannot be stored now.")
    if not is_whole:
        return _answer(400, f"{row.size} bytes are expected, before the upload is over.")
    return _answer(204)


def _answer(status: int, text: str = "") -> HttpResponse:
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return HttpResponse(text, status=status, content_type="text/plain", headers=headers)
