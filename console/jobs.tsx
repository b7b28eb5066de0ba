/** `/console/jobs/`: background work. Staff can retry a failed job. */

import { JOB_STATUSES, listJobs } from "../core/jobs/read.ts";
import { retryJob } from "../core/jobs/retry.ts";
import { encodeCursor } from "../routes/shared/page.ts";
import { parsePathId } from "../routes/shared/paths.ts";
import type { ConsoleBase } from "./base.tsx";
import { FormToken, Time } from "./frame.tsx";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "./lists.tsx";

const PATH = "/jobs/";

export function addJobs({ deps, root, router, signedIn, formOf, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words, session } = view;
    const status = choose(JOB_STATUSES, c.req.query("status"));
    const { jobs, next } = await listJobs(deps, session.caller, {
      task: null,
      status,
      limit: PAGE_SIZE,
      before: cursorOf(c),
    });
    const rows = jobs.map((job) => [
      <Time view={view} at={job.created_at} />,
      job.task,
      job.status,
      job.attempts,
      job.error ?? "",
      job.status === "failed" && session.caller.isStaff && (
        <form method="post" action={`${root}${PATH}${job.id}/retry/`}>
          <FormToken view={view} />
          <button type="submit">{words.retry}</button>
        </form>
      ),
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.jobs}
        path={PATH}
        columns={[words.created, words.task, words.status, words.attempts, words.error, ""]}
        rows={rows}
        next={next && encodeCursor(next)}
        status={{ chosen: status ?? "", all: JOB_STATUSES }}
        message={c.req.query("done") ? words.retried : null}
      />,
    );
  });

  router.post(`${PATH}:id/retry/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    await retryJob(deps, session.caller, parsePathId(c.req.param("id")));
    return c.redirect(`${root}${PATH}?done=retry`, 303);
  });
}
