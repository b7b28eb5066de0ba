/** Updates the page when something happens: loads it again and replaces its content. */

const { live, liveUrl, events } = document.body.dataset;

if (live) follow();

function follow() {
  const url = new URL(liveUrl, location.href);
  if (live !== "*") url.searchParams.set("resource", live);
  const stream = new EventSource(url);
  for (const name of events.split(" ")) stream.addEventListener(name, refreshSoon);
  addEventListener("pagehide", () => stream.close());
}

let timer;

/** Several events often arrive together. */
function refreshSoon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 200);
}

async function refresh() {
  const main = document.querySelector("main");
  // Would take away what the user is typing.
  if (main.querySelector("input:focus, select:focus")) return;
  const response = await fetch(location.href, { redirect: "error" }).catch(() => null);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  main.replaceWith(page.querySelector("main"));
}

document.documentElement.dataset.scripts = "on";

/** Copies the text of the element that the button names. */
document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  getSelection().selectAllChildren(source);
  // Without TLS, browsers have no clipboard; then the older command copies the selection.
  const isCopied = navigator.clipboard
    ? await navigator.clipboard.writeText(source.textContent).then(() => true, () => false)
    : document.execCommand("copy");
  if (isCopied) button.textContent = button.dataset.copied;
});
