/** Links to the page of a customer. */

import type { Child } from "hono/jsx";
import type { View } from "./session.ts";

/** Null: there is no email address. In a narrow column, the line ends after the `@`. */
export function emailLink({ root }: View, email: string | null): Child {
  if (email === null) return null;
  const [name, ...domain] = email.split(/(?<=@)/);
  return (
    <a href={`${root}/customers/?${new URLSearchParams({ email })}`}>
      {name}
      <wbr />
      {domain.join("")}
    </a>
  );
}

/** A number with fewer than 4 digits has no page, because the service does not search for it. */
export function phoneLink({ root }: View, phone: string | null): Child {
  if (phone === null || !/(\d\D*){4}/.test(phone)) return phone;
  return <a href={`${root}/customers/?${new URLSearchParams({ phone })}`}>{phone}</a>;
}
