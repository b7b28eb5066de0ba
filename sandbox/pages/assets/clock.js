/** The sandbox's clock goes on ticking between one look at it and the next. */

const WIB_MS = 7 * 60 * 60 * 1000;

let readAt = performance.now();

/** Takes the time from a page that was just fetched. */
export function setClock(fresh) {
  const clock = document.getElementById("clock");
  if (!clock || !fresh) return;
  clock.dataset.now = fresh.dataset.now;
  readAt = performance.now();
  tick();
}

export function tick() {
  const clock = document.getElementById("clock");
  if (!clock) return;
  const passed = (performance.now() - readAt) * Number(clock.dataset.rate);
  const here = new Date(Number(clock.dataset.now) + passed + WIB_MS);
  clock.textContent = here.toISOString().slice(0, 19).replace("T", " ");
}
