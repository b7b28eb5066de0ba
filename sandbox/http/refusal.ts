/** The gateway's error codes and messages. */

/** The default message of each code: the gateway's own text, where it is documented. */
const MESSAGES = {
  202: "The request is still being processed",
  400: "One or more parameters in the payload is invalid.",
  401: "Unknown Merchant server_key/id",
  402: "Payment channel is not activated.",
  403: "Forbidden",
  404: "Transaction doesn't exist.",
  405: "The requested method is not allowed",
  406:
    "The request could not be completed due to a conflict with the current state of the target resource, please try again",
  409: "Conflict",
  410: "GoPay user is blocked",
  411: "Credit card token is no longer available. Please create a new one.",
  412: "Transaction status cannot be updated.",
  413: "The request cannot be processed due to malformed syntax in the request body",
  414: "Refund request is rejected due to invalid amount",
  429: "Too many requests, please try again later",
  500: "Sorry. Our system is recovering from unexpected issues. Please retry.",
  503:
    "Sorry. The bank/payment partner is experiencing some connection issues. Please retry later.",
} as const;

export type RefusalCode = keyof typeof MESSAGES;

/**
 * Thrown when the gateway rejects a request; each family of endpoints formats it in its own way.
 */
export class Refusal extends Error {
  override name = "Refusal";

  constructor(
    readonly code: RefusalCode,
    message: string = MESSAGES[code],
    readonly validation: string[] = [],
    /** Additional fields of the response. */
    readonly members: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** A 400 with a message for each invalid field. */
export function invalid(...messages: string[]): Refusal {
  return new Refusal(400, MESSAGES[400], messages);
}

/**
 * A value that cannot be converted to the type of its field: 413 in the core API, 400 in others.
 */
export class WrongType extends Refusal {
  constructor(messages: string[]) {
    super(400, MESSAGES[400], messages);
  }

  asPayloadError(): Refusal {
    return new Refusal(413, "Payload format is not supported.");
  }
}

/** An error of the proxy in front of the gateway; its body has only `message`. */
export class ProxyError extends Refusal {
  constructor() {
    super(500, "An unexpected error occurred");
  }
}

/** A 412, which names the transaction in `id`. */
export function cannotUpdate(transactionId: string): Refusal {
  return new Refusal(412, MESSAGES[412], [], { id: transactionId });
}
