/**
 * `/console/jobs/`: background work, and `/console/jobs/schedule/`: the tasks that run at fixed
 * times.
 */

import type { Child, FC } from "hono/jsx";
import { JOB_STATUSES, type JobView, listJobs, readJob } from "../../core/jobs/read.ts";
import { retryJob } from "../../core/jobs/retry.ts";
import { type PlannedTask, readSchedule } from "../../core/status/status.ts";
import { encodeCursor } from "../../http/lists/page.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import {
  ActionButton,
  BackLink,
  Card,
  Facts,
  Json,
  Label,
  shorten,
  Table,
  Time,
  type Tone,
} from "../shared/elements.tsx";
import { Choice, SuggestingField } from "../shared/fields.tsx";
import { FilterBar, readFields, sentFields } from "../shared/filter_bar.tsx";
import { Frame } from "../shared/frame.tsx";
import { choose, cursorOf, ListPage, PAGE_SIZE } from "../shared/list_page.tsx";
import type { SignedInView, View } from "../shared/session.ts";

const PATH = "/jobs/";

const FIELDS = ["status", "task"] as const;

export function addJobs({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  const startedAt = new Date(service.clock());

  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const query = readFields(c, FIELDS);
    const { jobs, next } = await listJobs(service, view.session.caller, {
      task: query.task || null,
      status: choose(JOB_STATUSES, query.status),
      limit: PAGE_SIZE,
      before: cursorOf(c),
    });
    const isLive = c.req.query("cursor") === undefined;
    return page(c, <JobsPage {...{ view, query, jobs, next, isLive }} />);
  });

  router.get(`${PATH}schedule/`, async (c) => {
    const view = await signedIn(c);
    const tasks = await readSchedule(service, view.session.caller, startedAt);
    return page(c, <SchedulePage view={view} tasks={tasks} />);
  });

  router.get(`${PATH}:id/`, async (c) => {
    const view = await signedIn(c);
    const job = await readJob(service, view.session.caller, parsePathId(c.req.param("id")));
    const message = c.req.query("done") ? view.words.retried : null;
    return page(c, <JobPage view={view} job={job} message={message} />);
  });

  router.post(`${PATH}:id/retry/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    const id = parsePathId(c.req.param("id"));
    await retryJob(service, session.caller, id);
    return c.redirect(`${root}${PATH}${id}/?done=retry`, 303);
  });
}

interface JobsProps {
  view: SignedInView;
  query: Record<typeof FIELDS[number], string>;
  jobs: JobView[];
  next: string | null;
  isLive: boolean;
}

const JobsPage: FC<JobsProps> = ({ view, query, jobs, next, isLive }) => {
  const { root, words } = view;
  const { jobsPage } = words;
  return (
    <ListPage
      view={view}
      title={words.jobs}
      path={PATH}
      columns={[
        words.created,
        words.task,
        words.status,
        words.attempts,
        jobsPage.updated,
        words.error,
        "",
      ]}
      amounts={[3]}
      rows={jobs.map((job) => cellsOf(view, job))}
      next={next && encodeCursor(next)}
      query={sentFields(query)}
      isLive={isLive}
    >
      <p>
        <a href={`${root}${PATH}schedule/`}>{jobsPage.schedule} →</a>
      </p>
      <FilterBar view={view} path={PATH} days={null}>
        <Choice
          name="status"
          label={words.status}
          value={choose(JOB_STATUSES, query.status) ?? ""}
          options={jobsPage.statuses}
          any={words.any}
        />
        <SuggestingField
          name="task"
          label={words.task}
          value={query.task}
          options={jobs.map(({ task }) => task)}
        />
      </FilterBar>
    </ListPage>
  );
};

function cellsOf(view: SignedInView, job: JobView): Child[] {
  return [
    <a href={`${view.root}${PATH}${job.id}/`}>
      <Time view={view} at={job.created_at} />
    </a>,
    job.task,
    <JobStatus view={view} job={job} />,
    job.attempts,
    <Time view={view} at={job.updated_at} />,
    <div class="text">{shorten(job.error ?? "")}</div>,
    <Retry view={view} job={job} />,
  ];
}

const TONES: Record<JobView["status"], Tone> = {
  queued: "plain",
  running: "wait",
  succeeded: "good",
  failed: "bad",
};

const JobStatus: FC<{ view: View; job: JobView }> = ({ view, job: { status } }) => (
  <Label tone={TONES[status]}>{view.words.jobsPage.statuses[status]}</Label>
);

/** Only a failed job can be retried. */
const Retry: FC<{ view: SignedInView; job: JobView }> = ({ view, job }) => {
  if (job.status !== "failed") return null;
  return <ActionButton view={view} to={`${PATH}${job.id}/retry/`}>{view.words.retry}</ActionButton>;
};

interface JobProps {
  view: SignedInView;
  job: JobView;
  message: string | null;
}

const JobPage: FC<JobProps> = ({ view, job, message }) => {
  const { words } = view;
  return (
    <Frame view={view} title={job.task} path={`${PATH}${job.id}/`}>
      <BackLink view={view} to={PATH}>{words.jobs}</BackLink>
      {message && <p role="status" class="done">{message}</p>}
      <h1>
        {job.task} <JobStatus view={view} job={job} />
      </h1>
      <Card id="details" title={words.details}>
        <Facts
          facts={{
            [words.created]: <Time view={view} at={job.created_at} />,
            [words.jobsPage.updated]: <Time view={view} at={job.updated_at} />,
            [words.attempts]: job.attempts,
            [words.error]: job.error,
            ID: <code>{job.id}</code>,
          }}
        />
        <div class="actions after">
          <Retry view={view} job={job} />
        </div>
      </Card>
      {job.result !== null && (
        <Card id="result" title={words.result}>
          <Json view={view} value={job.result} />
        </Card>
      )}
    </Frame>
  );
};

const RUN_TONES: Record<PlannedTask["status"], Tone> = {
  never_run: "plain",
  running: "wait",
  succeeded: "good",
  failed: "bad",
};

const SchedulePage: FC<{ view: SignedInView; tasks: PlannedTask[] }> = ({ view, tasks }) => {
  const { words } = view;
  const { jobsPage } = words;
  const isOverdue = tasks.some((task) => task.is_overdue);
  const columns = [
    words.task,
    jobsPage.runs,
    words.status,
    jobsPage.lastRun,
    jobsPage.nextRun,
    words.result,
  ];
  return (
    <Frame view={view} title={jobsPage.schedule} path={`${PATH}schedule/`}>
      <BackLink view={view} to={PATH}>{words.jobs}</BackLink>
      <h1>{jobsPage.schedule}</h1>
      {isOverdue && <p role="alert" class="error">{jobsPage.overdueHelp}</p>}
      <Table label={jobsPage.schedule} columns={columns} class="cards">
        {tasks.map((task) => (
          <tr>
            <td>{task.task}</td>
            <td>{jobsPage.every(task.every_minutes)}</td>
            <td>
              <Label tone={RUN_TONES[task.status]}>{jobsPage.runStatuses[task.status]}</Label>
              {task.is_overdue && (
                <>
                  {" "}
                  <Label tone="bad">{jobsPage.overdue}</Label>
                </>
              )}
            </td>
            <td>
              <Time view={view} at={task.started_at} />
            </td>
            <td>
              <Time view={view} at={task.next_run_at} />
            </td>
            <td class="text">{shorten(task.error ?? describeResult(task.result))}</td>
          </tr>
        ))}
      </Table>
    </Frame>
  );
};

/** A number of records, or an object of numbers. */
function describeResult(result: unknown): string {
  if (result === null || result === undefined) return "";
  if (typeof result !== "object") return String(result);
  return Object.entries(result).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(", ");
}
