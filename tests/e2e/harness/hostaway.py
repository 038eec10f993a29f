"""A stand-in for a vacation rental API: bearer tokens by client credentials, lists by `limit` and `offset`.

Lists are `{"status", "result", "count", "limit", "offset"}`; reservations also take `afterId`. What changed last comes first.
Finance reports are POST requests with columns and rows. A request without a valid token gets 403. A token is valid a second
after it was returned.
"""

import datetime
import math
import time
from urllib.parse import parse_qsl

from .record_fields import CONVERSATION, LISTING, MESSAGE, RESERVATION, REVIEW, TASK, filled
from .rest_stub import Response, RestStub, operation

CLIENT_ID, CLIENT_SECRET = "31337", "hostaway-client-secret-7f3a"
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
CHANNELS = ["airbnbOfficial", "bookingcom", "homeaway", "direct"]
STATUSES = ["new", "modified", "cancelled", "ownerStay"]

OPENAPI = {
    "openapi": "3.0.3",
    "info": {"title": "Vacation rentals", "version": "1.0"},
    "paths": {
        "/v1/listings": {
            "get": operation(
                "listListings",
                ("limit", "query", INTEGER),
                ("offset", "query", INTEGER),
                ("sortOrder", "query", STRING),
                ("includeResources", "query", INTEGER),
                summary="Retrieve a list of listings",
            )
        },
        "/v1/listings/{listingId}": {
            "get": operation("getListing", ("listingId", "path", INTEGER), summary="Retrieve a listing")
        },
        "/v1/listings/{listingId}/calendar": {
            "get": operation(
                "getCalendar",
                ("listingId", "path", INTEGER),
                ("startDate", "query", STRING),
                ("endDate", "query", STRING),
                summary="Retrieve the calendar of a listing",
            )
        },
        "/v1/reservations": {
            "get": operation(
                "listReservations",
                ("limit", "query", INTEGER),
                ("offset", "query", INTEGER),
                ("afterId", "query", INTEGER),
                ("listingId", "query", INTEGER),
                ("status", "query", STRING),
                ("arrivalStartDate", "query", STRING),
                ("arrivalEndDate", "query", STRING),
                summary="Retrieve reservations",
            )
        },
        "/v1/reservations/{reservationId}": {
            "get": operation("getReservation", ("reservationId", "path", INTEGER), summary="Retrieve a reservation")
        },
        "/v1/finance/report/consolidated": {
            "post": operation(
                "consolidatedReport",
                summary="Consolidated finance report",
                body={"type": "object", "properties": {"fromDate": STRING, "toDate": STRING}, "required": ["fromDate", "toDate"]},
            )
        },
    },
}


def listing(number):
    return {
        "id": 40000 + number,
        "propertyTypeId": 1 + number % 4,
        "name": f"Garden Villa {number}",
        "internalListingName": f"Property #{number}",
        "description": f"Garden Villa {number}. The living room opens onto a terrace. A kitchen and a washer are available.",
        "country": "Spain",
        "city": ["Málaga", "Ronda", "Nerja"][number % 3],
        "zipcode": f"29{number:03}",
        "price": 80 + number * 1.5,
        "starRating": 4.5,
        "personCapacity": 2 + number % 7,
        "lat": 36.7 + number / 1000,
        "lng": -4.4 - number / 1000,
        "bedroomsNumber": 1 + number % 4,
        "cleaningFee": 45,
        "doorSecurityCode": f"{number:04}#",
        "wifiPassword": f"villa-{number}",
        "currencyCode": "EUR",
        "listingAmenities": [{"id": each, "amenityId": each * 3} for each in range(number % 5)],
        "listingImages": [{"id": each, "url": f"https://img.example/{number}/{each}.jpg"} for each in range(3)],
    }


def reservation(number):
    arrival = datetime.date(2026, 1, 1) + datetime.timedelta(days=number % 360)
    return {
        "id": 13010000 + number,
        "listingMapId": 40000 + number % 60,
        "channelName": CHANNELS[number % 4],
        "hostawayReservationId": str(13010000 + number),
        "reservationDate": f"{arrival - datetime.timedelta(days=30)} 15:24:34",
        "guestName": f"Guest {number}",
        "guestEmail": f"guest{number}@example.com",
        "numberOfGuests": 1 + number % 5,
        "arrivalDate": str(arrival),
        "departureDate": str(arrival + datetime.timedelta(days=3)),
        "nights": 3,
        "totalPrice": 300 + number * 0.25,
        "isPaid": number % 2,
        "currency": "EUR",
        "status": STATUSES[number % 4],
        "doorCode": f"{number:04}",
        "hostNote": None,
        "comment": "Late arrival, please leave the key with the neighbour." if number % 9 == 0 else None,
        "financeField": [{"id": number * 10 + each, "name": name, "value": 10 + each} for each, name in enumerate(["baseRate", "cleaningFee"])],
    }


def full_listing(number):
    """A listing with all fields, of about 8 KB."""
    images = [{"id": each, "url": f"https://img.example/{number}/{each}.jpg", "caption": f"View {each}"} for each in range(24)]
    long = {
        "description": " ".join(f"Room {each} of villa {number} has a window to the garden." for each in range(40)),
        "houseRules": "No parties. No smoking. Quiet after ten.",
        "keyPickup": f"The key is in box {number:04}.",
        "contactEmail": f"owner{number}@example.com",
        "contactPhone1": f"+34 600 {number:06}",
        "listingImages": images,
    }
    return filled(listing(number) | long, LISTING, number)


def full_reservation(number):
    """A reservation with all fields, and more than 2,000 tokens."""
    fees = [
        {"id": number * 100 + each, "units": 1, "type": "price", "name": name, "title": name, "alias": None, "value": 10 + each, "isIncludedInTotalPrice": 1, "isDeleted": 0, "total": 10 + each}
        for each, name in enumerate(["baseRate", "cleaningFee", "cityTax", "petFee", "resortFee", "serviceFee", "linenFee", "bookingFee"])
    ]
    messages = [{"id": each, "date": f"2026-01-{1 + each:02}", "isIncoming": each % 2, "body": f"Message {each}: we arrive at {each + 8} and ask for a cot."} for each in range(20)]
    own = {
        "listingName": f"Garden Villa {number % 60}",
        "phone": f"+34 611 {number:06}",
        "doorCodeInstruction": f"Turn left, then press {number:04}.",
        "guestNote": f"A note of guest {number}.",
        "financeField": fees,
        "conversationMessages": messages,
    }
    return filled(reservation(number) | own, RESERVATION, number)


def conversation(number):
    own = {"listingMapId": 40000 + number % 60, "reservationId": 13010000 + number, "recipientName": f"Guest {number}", "recipientEmail": f"guest{number}@example.com", "messageReceivedOn": f"2026-02-{1 + number % 28:02} 10:00:00"}
    return filled({"id": 7000 + number} | own, CONVERSATION, number)


def message(number):
    own = {"conversationId": 7005, "date": f"2026-02-{1 + number % 28:02} 10:{number % 60:02}:00", "isIncoming": number % 2, "body": f"Message {number}: is there a cot, and when can we arrive?"}
    return filled({"id": 90000 + number} | own, MESSAGE, number)


def task(number):
    own = {"listingMapId": 40000 + number % 60, "title": f"Clean villa {number}", "status": ["pending", "completed"][number % 2], "canStartFrom": "2026-01-01 10:00:00", "shouldEndBy": "2026-01-01 15:00:00", "description": "Change the linen and check the boiler. " * 6}
    return filled({"id": 500 + number} | own, TASK, number)


def review(number):
    own = {"listingMapId": 40000 + number % 60, "reservationId": 13010000 + number, "status": "published", "rating": 1 + number % 10, "listingName": f"Garden Villa {number % 60}", "guestName": f"Guest {number}", "publicReview": f"Stay {number}: quiet, clean and close to the beach. " * 5}
    return filled({"id": 30000 + number} | own, REVIEW, number)


class Hostaway(RestStub):
    """`tokens` are valid, by the time of their issue; without them, clients authenticate again. `refusals` requests get 429 first.

    With `full`, records have all fields of the real API. With `rate`, `(requests, seconds)`, further requests within that time
    get 429, without `Retry-After`. `change` puts a record before all others.
    """

    def __init__(self, listings=60, reservations=500, full=False):
        listing_of, reservation_of = (full_listing, full_reservation) if full else (listing, reservation)
        self.listings = [listing_of(number) for number in range(listings)]
        self.reservations = [reservation_of(number) for number in range(reservations)]
        self.conversations, self.messages = [conversation(number) for number in range(230)], [message(number) for number in range(130)]
        self.tasks, self.reviews = [task(number) for number in range(150)], [review(number) for number in range(150)]
        self.tokens, self.issued, self.refusals = {}, 0, 0
        self.rate, self._accepted, self._changed = None, [], []
        super().__init__({
            "POST /v1/accessTokens": self._token,
            "GET /v1/listings": self._guarded(self._listings),
            "GET /v1/listings/{id}": self._guarded(lambda request: one(self.listings, request)),
            "GET /v1/listings/{id}/calendar": self._guarded(self._calendar),
            "GET /v1/reservations": self._guarded(self._reservations),
            "GET /v1/reservations/{id}": self._guarded(lambda request: one(self.reservations, request)),
            "POST /v1/finance/report/consolidated": self._guarded(self._report),
            "GET /v1/conversations": self._guarded(lambda request: page(self.conversations, request)),
            "GET /v1/conversations/{id}/messages": self._guarded(lambda request: page(self.messages, request)),
            "GET /v1/tasks": self._guarded(lambda request: page(self.tasks, request)),
            "GET /v1/reviews": self._guarded(lambda request: page(self.reviews, request)),
        })

    def change(self, number):
        self._changed.insert(0, number)

    def newest_first(self, records):
        """The records, those changed last first."""
        by_id = {one["id"]: one for one in records}
        changed = [by_id[number] for number in dict.fromkeys(self._changed) if number in by_id]
        return changed + [one for one in records if one["id"] not in self._changed]

    def _is_too_fast(self):
        if not self.rate:
            return False
        most, seconds = self.rate
        now = time.monotonic()
        self._accepted = [at for at in self._accepted if at > now - seconds]
        if len(self._accepted) >= most:
            return True
        self._accepted.append(now)
        return False

    def _token(self, request):
        form = request.form
        if (form.get("client_id"), form.get("client_secret"), form.get("scope")) != (CLIENT_ID, CLIENT_SECRET, "general"):
            return Response({"error": "invalid_client", "message": f"bad secret {form.get('client_secret')}"}, 401)
        self.issued += 1
        token = f"access-token-number-{self.issued}"
        self.tokens[token] = time.monotonic()
        return {"token_type": "Bearer", "expires_in": 15897600, "access_token": token}

    def _guarded(self, answer):
        def guarded(request):
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if time.monotonic() - self.tokens.get(token, math.inf) < 1:
                return Response({"status": "fail", "message": f"token {token} is not valid"}, 403)
            if self.refusals:
                self.refusals -= 1
                return Response({"status": "fail", "message": "Too many requests"}, 429, {"retry-after": "0"})
            if self._is_too_fast():
                return Response({"status": "fail", "message": "This error occurs because a server detects that your application has exceeded the rate limits"}, 429)
            return answer(request)

        return guarded

    def _listings(self, request):
        is_by_activity = request.query.get("sortOrder") == "latestActivityDesc"
        return page(self.newest_first(self.listings) if is_by_activity else self.listings, request)

    def _reservations(self, request):
        found, query = self.newest_first(self.reservations), request.query
        if "afterId" in query:
            before = [one["id"] for one in found].index(int(query["afterId"]))
            found = found[before + 1 :]
        if "listingId" in query:
            found = [one for one in found if one["listingMapId"] == int(query["listingId"])]
        if "status" in query:
            found = [one for one in found if one["status"] == query["status"]]
        return page(found, request)

    def _calendar(self, request):
        return self.calendar(request.query.get("startDate", "2026-01-01"), request.query.get("endDate", "2026-01-31"))

    def calendar(self, start, end):
        start, end = datetime.date.fromisoformat(start), datetime.date.fromisoformat(end)
        days = [start + datetime.timedelta(days=each) for each in range((end - start).days + 1)]
        result = [
            {"id": number, "date": str(day), "isAvailable": number % 3 and 1, "price": 100 + number, "minimumStay": 2, "note": None}
            for number, day in enumerate(days)
        ]
        return {"status": "success", "result": result}

    def _report(self, request):
        asked = request.json if request.body.startswith(b"{") else dict(parse_qsl(request.body.decode()))
        names = ["id", "channelName", "status", "arrivalDate", "baseRate", "cleaningFeeValue", "ownerPayout"]
        rows = [
            [one["id"], one["channelName"], one["status"], one["arrivalDate"], one["totalPrice"], 45, one["totalPrice"] * 0.8]
            for one in self.reservations
            if asked["fromDate"] <= one["arrivalDate"] <= asked["toDate"]
            and asked.get("listingMapIds[]", str(one["listingMapId"])) == str(one["listingMapId"])
        ]
        totals = [None, None, None, None, *(sum(row[at] for row in rows) for at in (4, 5, 6))]
        columns = [{"name": name, "title": name, "valueType": "string"} for name in names]
        return {"status": "success", "result": {"columns": columns, "rows": rows, "totals": totals, "currency": "EUR"}}


def page(found, request):
    limit, offset = int(request.query.get("limit", 100)), int(request.query.get("offset", 0))
    result = found[offset : offset + limit]
    return {"status": "success", "result": result, "count": len(found), "limit": limit, "offset": offset}


def one(found, request):
    match = [each for each in found if str(each["id"]) == request.path["id"]]
    return {"status": "success", "result": match[0]} if match else Response({"status": "fail", "message": "Not found"}, 404)
