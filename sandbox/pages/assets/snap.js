/**
 * `snap.pay` and `snap.embed` for a merchant's page. Load this script like the gateway's, from the
 * address of the sandbox. The sandbox sends it inside a function, so that its names are not global.
 */

const script = document.currentScript ?? document.querySelector('script[src*="/snap/snap.js"]');
const address = new URL(script.src).origin;

/** The popup on the merchant's page; null if none is shown. */
let popup = null;

/** Shows the page of a token in a frame, and calls the merchant's callbacks with its result. */
function createFrame(token, options, onEnd) {
  const frame = document.createElement("iframe");
  const url = new URL(`/snap/v3/redirection/${encodeURIComponent(token)}`, address);
  if (options.language) url.searchParams.set("language", options.language);
  frame.src = url.href;
  frame.title = "Payment";
  frame.name = "snap";
  frame.allow = "payment";
  frame.style.cssText = "width:100%;height:100%;border:0;";
  /** `result`: the last message of the page. */
  const shown = { frame, stop, result: null };
  function receive({ origin, source, data }) {
    if (origin !== address || source !== frame.contentWindow || data?.snapToken !== token) return;
    shown.result = data;
    if (!data.isFinal) return;
    stop();
    onEnd();
    const callback = options[data.callback];
    if (callback) callback(data.result);
    else if (data.result.finish_redirect_url) location.assign(data.result.finish_redirect_url);
  }
  function stop() {
    removeEventListener("message", receive);
  }
  addEventListener("message", receive);
  return shown;
}

function createPopup() {
  const element = document.createElement("div");
  element.id = "snap-midtrans";
  element.setAttribute("role", "dialog");
  element.setAttribute("aria-modal", "true");
  element.setAttribute("aria-label", "Payment");
  element.style.cssText = "position:fixed;inset:0;z-index:2147483647;display:grid;" +
    "place-items:center;background:rgb(0 0 0 / 55%);";
  document.body.append(element);
  popup = { element, stop: () => {} };
  return popup;
}

/** A popup without a page, while the merchant's page waits for a token. */
function show() {
  hide();
  const { element } = createPopup();
  element.setAttribute("aria-busy", "true");
  element.innerHTML = '<p style="margin:0;color:#fff;font:16px system-ui">…</p>';
}

function hide() {
  popup?.stop();
  popup?.element.remove();
  popup = null;
}

function checkToken(token) {
  if (typeof token !== "string" || token === "") {
    throw new Error("snap: the first argument must be the token of a transaction");
  }
}

function pay(token, options = {}) {
  checkToken(token);
  hide();
  const { element } = createPopup();
  const box = document.createElement("div");
  box.style.cssText = "position:relative;width:min(480px,100%);height:min(760px,100%);" +
    "overflow:hidden;border-radius:16px;background:#fff;";
  const shown = createFrame(token, options, hide);
  popup.stop = shown.stop;
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "×";
  close.setAttribute("aria-label", "Close");
  close.style.cssText = "position:absolute;top:34px;right:8px;width:40px;height:40px;border:0;" +
    "border-radius:20px;background:rgb(120 130 140 / 25%);color:inherit;font:24px/1 system-ui;" +
    "cursor:pointer;";
  close.addEventListener("click", () => {
    hide();
    // A method such as a bank transfer was chosen, and the customer pays it later.
    if (shown.result) options[shown.result.callback]?.(shown.result.result);
    else options.onClose?.();
  });
  box.append(shown.frame, close);
  element.append(box);
  close.focus();
}

function embed(token, options = {}) {
  checkToken(token);
  const place = document.getElementById(options.embedId);
  if (!place) throw new Error(`snap: no element has the id ${options.embedId}`);
  const { frame } = createFrame(token, options, () => {});
  frame.style.minHeight = "560px";
  place.replaceChildren(frame);
}

globalThis.snap = { pay, embed, show, hide };
