"""A program that uses the Python client; a test runs it. Prints the result of each step."""

import json
import os
from types import SimpleNamespace

import payment_gateway
from payment_gateway.rest import ApiException

settings = json.loads(os.environ["CONSUMER"])
configuration = payment_gateway.Configuration(host=settings["url"])
configuration.access_token = settings["key"]
outcome = {}

with payment_gateway.ApiClient(configuration) as client:
    charges = payment_gateway.ChargesApi(client)
    payments = payment_gateway.PaymentsApi(client)

    # One key, one payment. The amount needs more than 32 bits.
    charge = payment_gateway.GopayCharge(payment_type="gopay", gross_amount=3_000_000_000)
    key = settings["idempotencyKey"]
    created = [charges.create_charge(charge, idempotency_key=key) for _ in range(2)]
    outcome["charge"] = [
        type(created[0]).__name__,
        created[0].transaction_status,
        created[0].gross_amount,
        created[0].qr_url.startswith("http"),
        created[0].id == created[1].id,
    ]

    listed = payments.list_payments(order_id=created[0].order_id)
    outcome["list"] = [type(listed[0]).__name__, listed[0].id == created[0].id, len(listed)]

    try:
        charges.create_charge({"payment_type": "gopay", "gross_amount": -1})
    except ApiException as error:
        problem = client.deserialize(SimpleNamespace(data=error.body), "Problem")
        outcome["error"] = [error.status, problem.code, problem.errors[0].field]

print(json.dumps(outcome))
