/** `/console/keys/`: API keys. Staff create and revoke them. */

import type { FC } from "hono/jsx";
import {
  type KeyView,
  listKeys,
  type NewKeyInput,
  revokeKey,
} from "../../core/auth/manage_keys.ts";
import { ServiceError } from "../../core/errors.ts";
import { createApiKeyOnce } from "../../core/idempotency/create_api_key_once.ts";
import { encodeKeyCursor, KeyListQuery } from "../../http/lists/keys.ts";
import { KeyInputSchema } from "../../core/auth/key_input.ts";
import { parsePrefix } from "../../http/paths.ts";
import { fingerprintRequest, replayHeader } from "../../http/idempotency.ts";
import { recordError } from "../../http/problems/render.ts";
import { validationError } from "../../http/router.ts";
import { type ConsoleBase, type ConsoleContext, type Form, requireActor } from "../shared/base.tsx";
import { readKey } from "../shared/confirm.tsx";
import { FormToken, Secret, Time } from "../shared/elements.tsx";
import { explain, issuesOf } from "../shared/explain.ts";
import { Frame } from "../shared/frame.tsx";
import { ListPage, PAGE_SIZE } from "../shared/list_page.tsx";
import type { SignedInView } from "../shared/session.ts";

const PATH = "/keys/";

export function addKeys({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  async function showList(c: ConsoleContext, view: SignedInView, form: KeyForm, error?: string) {
    const { keys, next } = await listKeys(service, view.session.caller, {
      limit: PAGE_SIZE,
      before: KeyListQuery.safeParse(c.req.query()).data?.cursor ?? null,
    });
    const message = c.req.query("done") ? view.words.revoked : null;
    const props = { view, keys, next, form, message, error };
    return page(c, <KeysPage {...props} />, error ? 400 : 200);
  }

  router.get(PATH, async (c) => await showList(c, await signedIn(c), newForm()));

  router.post(PATH, async (c) => {
    const view = await signedIn(c);
    const sent = await formOf(c, view.session);
    requireActor(view.session);
    const form = readForm(sent);
    try {
      const input = parseInput(form);
      const requestKey = { key: form.key, ...fingerprintRequest(`POST ${PATH}`, input) };
      const { key, prefix } = await createApiKeyOnce(
        service,
        view.session.caller,
        input,
        requestKey,
      );
      c.env.resourceId = prefix;
      return page(
        c,
        <Frame view={view} title={view.words.createKey} path={PATH}>
          <Secret view={view} label={view.words.newKey} value={key} back={root + PATH} />
        </Frame>,
      );
    } catch (thrown) {
      if (!(thrown instanceof ServiceError)) throw thrown;
      const { code, members } = recordError(thrown, c.env);
      if (code === "validation_error") {
        return await showList(c, view, form, explain(view, thrown, labelsOf(view)));
      }
      if (code === "idempotency_key_reused") {
        const next = { ...form, key: crypto.randomUUID() };
        return await showList(c, view, next, view.words.keysPage.formUsed);
      }
      if (code !== "invalid_state") throw thrown;
      for (const [name, value] of Object.entries(replayHeader(true))) c.header(name, value);
      return page(c, <AlreadyCreatedPage view={view} prefix={String(members.prefix)} />);
    }
  });

  router.get(`${PATH}:prefix/revoke/`, async (c) => {
    const view = await signedIn(c);
    return page(c, <RevokePage view={view} prefix={parsePrefix(c.req.param("prefix"))} />);
  });

  router.post(`${PATH}:prefix/revoke/`, async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    await revokeKey(service, session.caller, parsePrefix(c.req.param("prefix")));
    return c.redirect(`${root}${PATH}?done=revoked`, 303);
  });
}

/** The form that creates a key. */
interface KeyForm {
  /** The Idempotency-Key, chosen when the form is rendered: a form that is sent twice acts once. */
  key: string;
  user_id: string;
  role: string;
  name: string;
  order_prefix: string;
}

function newForm(): KeyForm {
  return { key: crypto.randomUUID(), user_id: "", role: "user", name: "", order_prefix: "" };
}

function readForm(sent: Form): KeyForm {
  const textOf = (name: string) => String(sent[name] ?? "");
  return {
    key: readKey(sent),
    user_id: textOf("user_id"),
    role: textOf("role"),
    name: textOf("name"),
    order_prefix: textOf("order_prefix"),
  };
}

function parseInput({ key: _, ...fields }: KeyForm): NewKeyInput {
  const parsed = KeyInputSchema.safeParse(fields);
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  const { name = null, order_prefix = null, ...owner } = parsed.data;
  return { ...owner, name, order_prefix };
}

function labelsOf({ words }: SignedInView) {
  const { user, role, name, keysPage } = words;
  return { user_id: user, role, name, order_prefix: keysPage.orderPrefix };
}

interface KeysProps {
  view: SignedInView;
  keys: KeyView[];
  /** The prefix of the last key; null on the last page. */
  next: string | null;
  form: KeyForm;
  message: string | null;
  error?: string;
}

const KeysPage: FC<KeysProps> = ({ view, keys, next, form, message, error }) => {
  const { root, words, session } = view;
  const rows = keys.map((key) => [
    <code>{key.prefix}…</code>,
    key.user_id,
    key.role === "user" ? words.userRole : words.roles[key.role],
    key.name ?? "",
    key.order_prefix && <code>{key.order_prefix}</code>,
    <Time view={view} at={key.created_at} />,
    key.last_used_at ? <Time view={view} at={key.last_used_at} /> : words.never,
    key.revoked_at
      ? words.revoked
      : session.caller.isStaff && (
        <a class="button" href={`${root}${PATH}${key.prefix}/revoke/`}>{words.revoke}</a>
      ),
  ]);
  return (
    <ListPage
      view={view}
      title={words.keys}
      path={PATH}
      columns={[
        words.key,
        words.user,
        words.role,
        words.name,
        words.keysPage.orderPrefix,
        words.created,
        words.lastUsed,
        "",
      ]}
      rows={rows}
      next={next && encodeKeyCursor(next)}
      message={message}
    >
      {error && <p role="alert" class="error">{error}</p>}
      {session.caller.isStaff && <NewKey view={view} form={form} />}
    </ListPage>
  );
};

const NewKey: FC<{ view: SignedInView; form: KeyForm }> = ({ view, form }) => {
  const { root, words } = view;
  return (
    <form class="filters" method="post" action={root + PATH} aria-label={words.createKey}>
      <FormToken view={view} />
      <input type="hidden" name="key" value={form.key} />
      <div>
        <label for="user_id">{words.user}</label>
        <input id="user_id" name="user_id" required maxlength={255} value={form.user_id} />
      </div>
      <div>
        <label for="role">{words.role}</label>
        <select id="role" name="role">
          <option value="user">{words.userRole}</option>
          <option value="viewer" selected={form.role === "viewer"}>{words.roles.viewer}</option>
        </select>
      </div>
      <div>
        <label for="name">{words.name}</label>
        <input id="name" name="name" maxlength={255} value={form.name} />
      </div>
      <div>
        <label for="order_prefix">{words.keysPage.orderPrefix}</label>
        <input id="order_prefix" name="order_prefix" maxlength={9} value={form.order_prefix} />
      </div>
      <button type="submit">{words.createKey}</button>
    </form>
  );
};

/** After a form that was sent before: its key cannot be shown again. */
const AlreadyCreatedPage: FC<{ view: SignedInView; prefix: string }> = ({ view, prefix }) => {
  const { root, words } = view;
  const { alreadyCreated, created, secretGone, revokeIt } = words.keysPage;
  return (
    <Frame view={view} title={alreadyCreated} path={PATH}>
      <section class="card narrow">
        <h1>{alreadyCreated}</h1>
        <p role="status">{created(prefix)}</p>
        <p>{secretGone}</p>
        <div class="actions">
          <a class="button" href={`${root}${PATH}${prefix}/revoke/`}>{revokeIt}</a>
          <a class="button" href={root + PATH}>{words.back}</a>
        </div>
      </section>
    </Frame>
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
