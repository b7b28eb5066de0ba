/** What time it is, as an argument: tests and simulations move it by hand. */

export type Clock = () => number;

export const systemClock: Clock = () => Date.now();
