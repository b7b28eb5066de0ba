import assert from "node:assert/strict";
import { DOCTOR_IN_ENGLISH, DOCTOR_IN_INDONESIAN } from "../../console/words/doctor.ts";
import { browse, signInTo } from "../support/console/browsing.ts";
import { openInstallation, runSchedule, SERVER_KEY } from "../support/doctor/installation.ts";

Deno.test("console: staff run the doctor, and its page explains each result with the next step", async () => {
  await using installation = await openInstallation({ server: null });
  const { app } = installation;
  await runSchedule(app, 120);
  const browsing = await signInTo(app, await app.createKey({ isStaff: true }));
  const before = await browsing.open("/console/doctor/");
  assert.equal(before.status, 200);
  assert.doesNotMatch(before.html, /<tbody>/);
  const { status, html } = await browsing.submit(/\/doctor\//);
  assert.equal(status, 200);
  for (const name of Object.values(DOCTOR_IN_ENGLISH.texts.checks)) {
    assert.ok(html.includes(`<td>${name.replace("'", "&#39;")}</td>`), name);
  }
  assert.match(html, /Scheduled tasks do not run: sweep_jobs/);
  assert.match(html, /look for tick_failed in its log/);
  assert.match(html, /This host cannot connect to 127\.0\.0\.1/);
  assert.ok(!html.includes(SERVER_KEY));
});

Deno.test("console: shows the results of the doctor in Indonesian", async () => {
  await using installation = await openInstallation({ server: null });
  const { app } = installation;
  const browsing = await signInTo(app, await app.createKey({ isStaff: true }));
  await browsing.post("/console/preferences/", { language: "id", path: "/doctor/" });
  const { html } = await browsing.submit(/\/doctor\//);
  assert.match(html, /<h1>Doctor<\/h1>/);
  assert.match(html, /Semua pengaturan valid\./);
  assert.match(html, /karena pemeriksaan ini belum OK: PUBLIC_URL\./);
});

Deno.test("console: the doctor's texts have the same values in both languages", () => {
  const { findings } = DOCTOR_IN_ENGLISH.texts;
  const valuesOf = (text: string | null) => (text?.match(/\{\w+\}/g) ?? []).sort();
  for (const [name, english] of Object.entries(findings)) {
    const indonesian = DOCTOR_IN_INDONESIAN.texts.findings[name as keyof typeof findings];
    assert.deepEqual(valuesOf(indonesian.found), valuesOf(english.found), name);
    assert.deepEqual(valuesOf(indonesian.next), valuesOf(english.next), name);
    assert.equal(indonesian.next === null, english.next === null, name);
  }
});

Deno.test("console: a viewer cannot run the doctor", async () => {
  await using installation = await openInstallation({ server: null });
  const { app } = installation;
  const browsing = await signInTo(app, await app.createKey({ userId: "vera", isViewer: true }));
  const { html, status } = await browsing.open("/console/doctor/");
  assert.equal(status, 200);
  assert.doesNotMatch(html, /Run all checks<\/button>/);
  const token = /name="token" value="([^"]+)"/.exec(html)![1]!;
  assert.equal((await browsing.post("/console/doctor/", { token })).status, 403);
  assert.equal((await browse(app).open("/console/doctor/")).path.includes("sign-in"), true);
});
