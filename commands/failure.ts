/** What ends a command, in a line for whoever typed it; nobody wants a stack trace of that. */
export class Failure extends Error {
  override name = "Failure";
}
