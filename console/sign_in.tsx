/** `/console/sign-in/`: exchanges a credential for a session. */

import type { FC } from "hono/jsx";
import { Frame } from "./frame.tsx";
import type { View } from "./session.ts";

interface SignInProps {
  view: View;
  token: string;
  /** Offers to sign in without a credential. */
  isDevelopment: boolean;
  error?: string;
}

export const SignInPage: FC<SignInProps> = ({ view, token, isDevelopment, error }) => {
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
          <button class="primary">{words.signIn}</button>
        </form>
        {isDevelopment && (
          <form method="post" action={`${root}/sign-in/`}>
            <input type="hidden" name="token" value={token} />
            <input type="hidden" name="development" value="yes" />
            <button>{words.signInForDevelopment}</button>
          </form>
        )}
      </section>
    </Frame>
  );
};
