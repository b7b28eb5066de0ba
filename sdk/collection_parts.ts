/** The parts of a Postman collection (v2.1) that are used here. */

export interface Collection {
  info: Record<string, unknown>;
  item: Folder[];
  auth?: unknown;
  variable?: { key: string; value: string }[];
}

export interface Folder {
  name: string;
  description?: string;
  item: Item[];
}

export interface Item {
  id?: string;
  name: string;
  request: {
    method: string;
    url: {
      host: string[];
      path: string[];
      query?: { key: string; value: string; disabled?: boolean }[];
      variable?: { key: string; value: string }[];
    };
    header: { key: string; value: string; disabled?: boolean }[];
    body?: { raw?: string };
    auth?: { type: string } | null;
  };
  response: { id?: string; code: number; originalRequest: { header?: unknown[] } }[];
  event?: TestEvent[];
}

export interface TestEvent {
  listen: "test";
  script: { type: string; exec: string[] };
}

/** A test script for the response. */
export function testEvent(exec: string[]): TestEvent {
  return { listen: "test", script: { type: "text/javascript", exec } };
}
