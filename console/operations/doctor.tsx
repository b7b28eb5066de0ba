/** `/console/doctor/`: runs the checks of the doctor, and shows what to do. */

import type { FC } from "hono/jsx";
import type { CheckResult, CheckStatus } from "../../core/doctor/check_result.ts";
import { runDoctor } from "../../core/doctor/doctor.ts";
import { describeResult } from "../../core/doctor/render.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { ActionButton, Card, Label, Table, type Tone } from "../shared/elements.tsx";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";

const PATH = "/doctor/";

export function addDoctor({ service, router, signedIn, actorForm, page }: ConsoleBase): void {
  router.get(PATH, async (c) => page(c, <DoctorPage view={await signedIn(c)} />));

  router.post(PATH, async (c) => {
    const { view } = await actorForm(c);
    c.env.isAuditExempt = true;
    const results = await runDoctor({
      ...service,
      gateway: service.background,
      config: service.doctorConfig,
      databaseProblem: null,
      publicUrl: service.links.publicUrl(),
    });
    return page(c, <DoctorPage view={view} results={results} />);
  });
}

const TONES: Record<CheckStatus, Tone> = {
  ok: "good",
  warning: "wait",
  fault: "bad",
  not_tested: "plain",
};

const DoctorPage: FC<{ view: SignedInView; results?: CheckResult[] }> = ({ view, results }) => {
  const { words: { doctorPage: words, ...shared }, session } = view;
  return (
    <Frame view={view} title={words.title} path={PATH}>
      <h1>{words.title}</h1>
      <p class="subtitle">{words.help}</p>
      {session.caller.isStaff
        ? (
          <div class="actions">
            <ActionButton view={view} to={PATH}>{words.run}</ActionButton>
          </div>
        )
        : <p class="card">{shared.viewersCannotAct}</p>}
      {results && (
        <Card id="results" title={words.results}>
          <Table
            label={words.results}
            class="cards"
            columns={[words.check, words.result, words.found]}
          >
            {results.map((result) => {
              const { check, status, found, next } = describeResult(result, words.texts);
              return (
                <tr>
                  <td>{words.texts.checks[check]}</td>
                  <td>
                    <Label tone={TONES[status]}>{words.statuses[status]}</Label>
                  </td>
                  <td class="text">
                    {found}
                    {next && <p class="help">{next}</p>}
                  </td>
                </tr>
              );
            })}
          </Table>
        </Card>
      )}
    </Frame>
  );
};
