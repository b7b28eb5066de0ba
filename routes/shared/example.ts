/** What an example of the document is: a value of a schema's own type, so that it cannot drift. */

export interface Example<T> {
  summary: string;
  value: T;
}

/** By name; what several operations show under one name is in the document once. */
export type Examples<T> = Record<string, Example<T>>;
