/** `/console/keys/`: API keys. Staff create and revoke them. */

import type { FC } from "hono/jsx";
import { createKeyForUser, type KeyView, listKeys, revokeKey } from "../core/auth/manage_keys.ts";
import { encodeCursor, KeyInputSchema, KeyListQuery, parsePrefix } from "../routes/keys.ts";
import { validationError } from "../routes/shared/router.ts";
import type { ConsoleBase } from "./base.tsx";
import { FormToken, Secret, Time } from "./elements.tsx";
import { Frame } from "./frame.tsx";
import { ListPage, PAGE_SIZE } from "./list_page.tsx";
import type { SignedInView } from "./session.ts";

const PATH = "/keys/";

export function addKeys({ deps, root, router, signedIn, formOf, page }: ConsoleBase): void {
  router.get(PATH, async (c) => {
    const view = await signedIn(c);
    const { words, session } = view;
    const { keys, next } = await listKeys(deps, session.caller, {
      limit: PAGE_SIZE,
      before: KeyListQuery.safeParse(c.req.query()).data?.cursor ?? null,
    });
    const rows = keys.map((key) => [
      <code>{key.prefix}…</code>,
      key.user_id,
      key.role === "user" ? words.userRole : words.roles[key.role],
      key.name ?? "",
      <Time view={view} at={key.created_at} />,
      key.last_used_at ? <Time view={view} at={key.last_used_at} /> : words.never,
      key.revoked_at
        ? words.revoked
        : session.caller.isStaff && (
          <a class="button" href={`${root}${PATH}${key.prefix}/revoke/`}>{words.revoke}</a>
        ),
    ]);
    return page(
      c,
      <ListPage
        view={view}
        title={words.keys}
        path={PATH}
        columns={[words.key, words.user, words.role, words.name, words.created, words.lastUsed, ""]}
        rows={rows}
        next={next && encodeCursor(next)}
        message={c.req.query("done") ? words.revoked : null}
      >
        {session.caller.isStaff && <NewKey view={view} />}
      </ListPage>,
    );
  });

  router.post(PATH, async (c) => {
    const view = await signedIn(c);
    const { user_id, role, name } = await formOf(c, view.session);
    const parsed = KeyInputSchema.safeParse({ user_id, role, name });
    if (!parsed.success) {
      throw validationError(
        parsed.error.issues.map(({ path, message }) => ({ field: path.join("."), message })),
      );
    }
    const input = { ...parsed.data, name: parsed.data.name ?? null };
    const { key } = await createKeyForUser(deps, view.session.caller, input);
    return page(
      c,
      <Frame view={view} title={view.words.createKey} path={PATH}>
        <Secret view={view} label={view.words.newKey} value={key} back={root + PATH} />
      </Frame>,
    );
  });

  router.get(`${PATH}:prefix/revoke/`, async (c) => {
    const view = await signedIn(c);
    return page(c, <RevokePage view={view} prefix={parsePrefix(c.req.param("prefix"))} />);
  });

  router.post(`${PATH}:prefix/revoke/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    await revokeKey(deps, session.caller, parsePrefix(c.req.param("prefix")));
    return c.redirect(`${root}${PATH}?done=revoked`, 303);
  });
}

const NewKey: FC<{ view: SignedInView }> = ({ view }) => {
  const { root, words } = view;
  return (
    <form class="filters" method="post" action={root + PATH} aria-label={words.createKey}>
      <FormToken view={view} />
      <div>
        <label for="user_id">{words.user}</label>
        <input id="user_id" name="user_id" required maxlength={255} />
      </div>
      <div>
        <label for="role">{words.role}</label>
        <select id="role" name="role">
          <option value="user">{words.userRole}</option>
          <option value="viewer">{words.roles.viewer}</option>
        </select>
      </div>
      <div>
        <label for="name">{words.name}</label>
        <input id="name" name="name" maxlength={255} />
      </div>
      <button type="submit">{words.createKey}</button>
    </form>
  );
};

interface RevokeProps {
  view: SignedInView;
  prefix: KeyView["prefix"];
}

const RevokePage: FC<RevokeProps> = ({ view, prefix }) => {
  const { root, words } = view;
  const path = `${PATH}${prefix}/revoke/`;
  return (
    <Frame view={view} title={words.revoke} path={path}>
      <section class="card narrow">
        <h1>{words.revoke}</h1>
        <p>
          <code>{prefix}…</code>
        </p>
        <p>{words.revokeEffect}</p>
        <form method="post" action={root + path}>
          <FormToken view={view} />
          <div class="actions">
            <button type="submit" class="danger">{words.revoke}</button>
            <a class="button" href={root + PATH}>{words.back}</a>
          </div>
        </form>
      </section>
    </Frame>
  );
};
