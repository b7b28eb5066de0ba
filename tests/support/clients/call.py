"""Calls operations of the Python client. Reads a call per line, and prints its result per line."""

import json
import os
import sys
from types import SimpleNamespace

import payment_gateway

settings = json.loads(os.environ["CLIENT_SETTINGS"])
configuration = payment_gateway.Configuration(host=settings["url"])
configuration.access_token = settings["key"]


def perform(client, call):
    """Sends the body as an object of its class, and returns the response's object as JSON."""
    if call["bodyType"]:
        body = SimpleNamespace(data=json.dumps(call["args"][call["bodyName"]]))
        call["args"][call["bodyName"]] = client.deserialize(body, call["bodyType"])
    api = getattr(payment_gateway, call["api"])(client)
    return client.sanitize_for_serialization(getattr(api, call["method"])(**call["args"]))


with payment_gateway.ApiClient(configuration) as client:
    for line in sys.stdin:
        try:
            outcome = {"result": perform(client, json.loads(line))}
        except Exception as error:
            outcome = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(outcome), flush=True)
