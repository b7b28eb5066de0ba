/**
 * Uploads a report with a progress bar, and shows how many lines are compared. Without this script,
 * the form and the pages work, too.
 */

const form = document.querySelector("form.upload");

if (form) {
  form.addEventListener("submit", upload);
  form.elements.file.addEventListener("change", offerHeaders);
}
if (document.querySelector("[data-poll]")) setTimeout(poll, 1000);

function upload(event) {
  event.preventDefault();
  const [file] = form.elements.file.files;
  if (file.size > Number(form.dataset.maxBytes)) return showError(form.dataset.tooLarge);
  showError("");
  const bar = form.querySelector("progress");
  const button = form.querySelector("button[type=submit]");
  const request = new XMLHttpRequest();
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    // After all bytes are sent, the service still stores lines: the bar then has no value.
    if (loaded < total) Object.assign(bar, { max: total, value: loaded });
    else bar.removeAttribute("value");
  });
  request.addEventListener("loadend", () => {
    bar.hidden = true;
    button.disabled = false;
  });
  request.addEventListener("load", () => {
    if (request.status < 400) location.assign(request.responseURL);
    else {
      // The response of a proxy in front of the service has no such element.
      const problem = request.response?.querySelector("[role=alert]")?.textContent;
      showError(problem ?? `${request.status} ${request.statusText}`);
    }
  });
  request.addEventListener("error", () => showError(form.dataset.interrupted));
  request.responseType = "document";
  request.open("POST", form.action);
  bar.removeAttribute("value");
  bar.hidden = false;
  button.disabled = true;
  request.send(new FormData(form));
}

function showError(text) {
  const box = document.querySelector("[role=alert]");
  box.textContent = text || "";
  box.hidden = !text;
}

/** Offers the headers of the file as column names. */
async function offerHeaders() {
  const [file] = form.elements.file.files;
  const beginning = file ? await file.slice(0, 65536).text() : "";
  const [line] = beginning.replace(/^\uFEFF/, "").split(/\r?\n/, 1);
  const [separator] = [",", ";", "\t"].sort((a, b) => line.split(b).length - line.split(a).length);
  const names = line.split(separator).map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
  const options = names.filter(Boolean).slice(0, 100).map((name) => new Option(name, name));
  document.querySelector("#headers").replaceChildren(...options);
}

/** Loads the page again until the file is compared. A broken response does not end this. */
async function poll() {
  // A function of `console.js`, which every page has.
  const loaded = await loadPage();
  // The session has ended.
  if (loaded?.redirected) return location.assign(loaded.url);
  if (loaded) document.querySelector("main").replaceWith(loaded.page.querySelector("main"));
  if (document.querySelector("[data-poll]")) setTimeout(poll, 1000);
}
