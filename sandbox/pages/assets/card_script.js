/**
 * The card functions for a merchant's page: `MidtransNew3ds.getCardToken`, `authenticate` and
 * `redirect`. Load this script like the gateway's, from the address of the sandbox.
 */
(() => {
  const script = document.currentScript ?? document.getElementById("midtrans-script");
  const address = new URL(script.src).origin;

  /** Exchanges the card's data for a token, without the merchant's server seeing the card. */
  async function getCardToken(card, { onSuccess, onFailure } = {}) {
    const query = new URLSearchParams({ client_key: script.dataset.clientKey ?? "" });
    for (const [name, value] of Object.entries(card)) query.set(name, String(value));
    let answer;
    try {
      const response = await fetch(`${address}/v2/token?${query}`);
      answer = await response.json();
    } catch (error) {
      answer = { status_code: "500", status_message: String(error) };
    }
    const callback = answer.status_code === "200" ? onSuccess : onFailure;
    callback?.(answer);
  }

  /** The merchant's page shows `redirectUrl` in a frame. The framed page reports the result. */
  function authenticate(redirectUrl, { performAuthentication, ...callbacks } = {}) {
    function receive({ origin, data }) {
      if (origin !== address || data?.redirectUrl !== redirectUrl) return;
      removeEventListener("message", receive);
      callbacks[callbackFor(data.response)]?.(data.response);
    }
    addEventListener("message", receive);
    performAuthentication?.(redirectUrl);
  }

  function callbackFor({ transaction_status: status, fraud_status: fraud }) {
    if (status === "pending" || fraud === "challenge") return "onPending";
    return ["authorize", "capture", "settlement"].includes(status) ? "onSuccess" : "onFailure";
  }

  /** Leaves the page; the result is posted to `callbackUrl` as the form field `response`. */
  function redirect(redirectUrl, { callbackUrl } = {}) {
    const url = new URL(redirectUrl);
    if (callbackUrl) url.searchParams.set("callback_url", callbackUrl);
    location.assign(url);
  }

  globalThis.MidtransNew3ds = { getCardToken, authenticate, redirect };
})();
