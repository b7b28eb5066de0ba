/** Compares an uploaded report file with the payments, as a worker does. */

import { createReconcile } from "../../../core/reports/reconcile.ts";
import type { GatewayJob } from "../../../db/jobs/jobs.ts";
import type { TestApp } from "../app.ts";

export async function compareReport({ service }: TestApp, id: string): Promise<void> {
  const { signal } = new AbortController();
  const job = { subject_id: id } as GatewayJob;
  await createReconcile(service).run(job, { signal, stopping: signal });
}
