/** The connections that webhooks are sent on. */

import { Agent, type AgentOptions } from "node:http";
import { Agent as TlsAgent } from "node:https";
import { connect, type ConnectionOptions } from "node:tls";

/** For `http:` and for `https:`. */
export function openConnections(protocol: string, options: AgentOptions): Agent {
  return protocol === "https:" ? new PlainTlsAgent(options) : new Agent(options);
}

/**
 * Where NODE_EXTRA_CA_CERTS is set, Deno's own would first list all that is trusted, which takes a
 * permission the service does not have. TLS by itself trusts the same.
 */
class PlainTlsAgent extends TlsAgent {
  override createConnection(options: ConnectionOptions) {
    return connect(options);
  }
}
