/** Copies the value of a `data-copy` button, which then shows the result. */

const SHOWN_MS = 2000;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const isCopied = await copyText(button.dataset.copy);
  button.textContent = isCopied ? "Copied" : "Blocked by the browser";
  setTimeout(() => button.textContent = "Copy", SHOWN_MS);
});

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
