/** Updates the page when an event arrives: loads it again and replaces its content. */

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
  // A refresh would delete what the user is typing.
  if (main.querySelector("input:focus, select:focus")) return;
  const response = await fetch(location.href, { redirect: "error" }).catch(() => null);
  if (!response?.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  main.replaceWith(page.querySelector("main"));
}
