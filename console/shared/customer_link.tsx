/** Links to the page of a customer. */

import type { Child } from "hono/jsx";
import type { View } from "./session.ts";

/** Null: there is no email address. */
export function emailLink({ root }: View, email: string | null): Child {
  if (email === null) return null;
  return <a href={`${root}/customers/?${new URLSearchParams({ email })}`}>{breakEmail(email)}</a>;
}

/**
 * In a narrow column, the line ends after the `@` or before a dot, and not inside a word. The last
 * dot stays with the word before it. Null and empty stay as they are, so that pages leave them out.
 */
export function breakEmail(email: string | null): Child {
  if (!email) return email;
  return email.split(/(?<=@)|(?=\..*\.)/).map((part, index) =>
    index === 0 ? part : (
      <>
        <wbr />
        {part}
      </>
    )
  );
}

/** A number with fewer than 4 digits has no page, because the service does not search for it. */
export function phoneLink({ root }: View, phone: string | null): Child {
  if (phone === null || !/(\d\D*){4}/.test(phone)) return phone;
  return <a href={`${root}/customers/?${new URLSearchParams({ phone })}`}>{phone}</a>;
}
