/** `/console/sessions/`: who is signed in, and since when. Staff can end a session. */

import type { FC } from "hono/jsx";
import {
  type ConsoleSession,
  endSession,
  listOpenSessions,
} from "../../core/auth/console_sessions.ts";
import { parsePathId } from "../../http/paths.ts";
import type { ConsoleBase } from "../shared/base.tsx";
import { FormToken, Table, Time } from "../shared/elements.tsx";
import { Frame } from "../shared/frame.tsx";
import type { SignedInView } from "../shared/session.ts";

export function addSessions({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  router.get("/sessions/", async (c) => {
    const view = await signedIn(c);
    const sessions = await listOpenSessions(service, view.session.caller);
    return page(c, <SessionsPage view={view} sessions={sessions} />);
  });

  router.post("/sessions/:id/end/", async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    await endSession(service, session.caller, parsePathId(c.req.param("id")));
    return c.redirect(`${root}/sessions/`, 303);
  });
}

interface SessionsProps {
  view: SignedInView;
  sessions: ConsoleSession[];
}

const SessionsPage: FC<SessionsProps> = ({ view, sessions }) => {
  const { root, words, session: own } = view;
  const columns = [
    words.user,
    words.role,
    words.key,
    words.signedIn,
    words.lastUsed,
    words.ends,
    "",
  ];
  return (
    <Frame view={view} title={words.sessions} path="/sessions/">
      <h1>{words.sessions}</h1>
      <Table label={words.sessions} columns={columns} class="cards">
        {sessions.map((session) => (
          <tr>
            <td>{session.user_id}</td>
            <td>{words.roles[session.is_staff ? "staff" : "viewer"]}</td>
            <td>{session.key_prefix ? <code>{session.key_prefix}…</code> : "JWT"}</td>
            <td>
              <Time view={view} at={session.created_at.toISOString()} />
            </td>
            <td>
              <Time view={view} at={session.last_used_at.toISOString()} />
            </td>
            <td>
              <Time view={view} at={session.expires_at.toISOString()} />
            </td>
            <td>
              {session.id === own.id
                ? words.thisSession
                : own.caller.isStaff && (
                  <form method="post" action={`${root}/sessions/${session.id}/end/`}>
                    <FormToken view={view} />
                    <button type="submit">{words.end}</button>
                  </form>
                )}
            </td>
          </tr>
        ))}
      </Table>
    </Frame>
  );
};
