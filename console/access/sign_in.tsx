/** `/console/sign-in/` and `/console/sign-out/`: a credential is exchanged for a session. */

import type { FC } from "hono/jsx";
import { routePath } from "hono/route";
import { type Caller, canReadAll } from "../../core/auth/caller.ts";
import { signIn, signOut } from "../../core/auth/console_sessions.ts";
import { clientAddress, createRateLimit } from "../../http/middleware/rate_limit.ts";
import type { ConsoleBase, ConsoleContext } from "../shared/base.tsx";
import { Frame } from "../shared/frame.tsx";
import {
  clearSessionCookie,
  setSessionCookie,
  signInToken,
  type View,
  viewOf,
} from "../shared/session.ts";

/** Failed sign-ins from one address: ten at once, then one every five seconds. */
const SIGN_IN_LIMIT = { perSecond: 0.2, burst: 10 };

export function addSignIn({ service, root, router, signedIn, formOf, page }: ConsoleBase): void {
  const limit = createRateLimit(SIGN_IN_LIMIT, service.clock);

  function showForm(c: ConsoleContext, error?: string): Response {
    const isDevelopment = service.developmentStaffKey !== null && isLoopback(c);
    const props = { view: viewOf(c, service.basePath), token: signInToken(c, root), isDevelopment };
    return page(c, <SignInPage {...props} error={error} />, error ? 403 : 200);
  }

  /**
   * Null: the credential is wrong, or its owner may not use the console. Only such attempts count
   * for the address. Above the limit they get 429, but a valid credential still signs in: an
   * attacker behind the same address must not lock staff out.
   */
  async function authenticateLimited(key: string, address: string): Promise<Caller | null> {
    let isCounted = false;
    let isWrong = false;
    try {
      // Counted before the look-up: above the limit, API keys are looked up together, ten times a
      // second.
      const caller = await service.authenticate(key, () => isCounted = limit.tryCount(address));
      if (caller && canReadAll(caller)) return caller;
      isWrong = true;
    } finally {
      if (isCounted && !isWrong) limit.uncount(address);
    }
    if (!isCounted) limit.count(address);
    return null;
  }

  router.get("/sign-in/", (c) => showForm(c));

  router.post("/sign-in/", async (c) => {
    const { credential, development } = await formOf(c, null);
    const key = development && isLoopback(c)
      ? service.developmentStaffKey
      : String(credential ?? "");
    const address = clientAddress(c, service.trustedProxies);
    const caller = await authenticateLimited((key ?? "").trim(), address);
    if (!caller) return showForm(c, viewOf(c, service.basePath).words.wrongCredential);
    // For the audit.
    c.env.caller = caller;
    c.env.route = routePath(c);
    const { token, expiresAt } = await signIn(service, caller);
    setSessionCookie(c, root, token, expiresAt);
    return c.redirect(`${root}/`, 303);
  });

  router.post("/sign-out/", async (c) => {
    const { session } = await signedIn(c);
    await formOf(c, session);
    await signOut(service, session);
    clearSessionCookie(c, root);
    return c.redirect(`${root}/sign-in/`, 303);
  });
}

/** Against DNS rebinding: an attacker can point a host name of another site at this machine. */
function isLoopback(c: ConsoleContext): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(c.req.header("host") ?? "");
}

interface SignInProps {
  view: View;
  token: string;
  /** Offers to sign in without a credential. */
  isDevelopment: boolean;
  error?: string;
}

const SignInPage: FC<SignInProps> = ({ view, token, isDevelopment, error }) => {
  const { root, words } = view;
  return (
    <Frame view={view} title={words.signIn} path="/sign-in/">
      <section class="card narrow">
        <h1>{words.signIn}</h1>
        {error && <p role="alert" class="error">{error}</p>}
        <form method="post" action={`${root}/sign-in/`}>
          <input type="hidden" name="token" value={token} />
          <label for="credential">{words.credential}</label>
          <input
            id="credential"
            name="credential"
            type="password"
            autocomplete="current-password"
            required
            aria-describedby="help"
          />
          <p id="help" class="help">{words.signInHelp}</p>
          <button type="submit" class="primary">{words.signIn}</button>
        </form>
        {isDevelopment && (
          <form method="post" action={`${root}/sign-in/`}>
            <input type="hidden" name="token" value={token} />
            <input type="hidden" name="development" value="yes" />
            <button type="submit">{words.signInForDevelopment}</button>
          </form>
        )}
      </section>
    </Frame>
  );
};
