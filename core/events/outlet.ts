/** What is on its way to one reader: bytes that wait until they are read, never more than a bound. */

export interface Outlet {
  readable: ReadableStream<Uint8Array>;
  /** False: there is no room, and nothing was done. One piece has room always. */
  write(piece: Uint8Array): boolean;
  /** Whether all that was written was read. */
  isEmpty(): boolean;
  /** Sends what still waits, and no more. */
  end(): void;
  /** Breaks off. */
  cut(): void;
}

export interface OutletOptions {
  /** The reader waits, and there is nothing. */
  onHungry(): void;
  /** The reader is gone, or it was ended or cut; called once. */
  onGone(): void;
}

const MOST_PIECES = 1_000;
const MOST_BYTES = 2 * 1024 * 1024;

/** What waits travels together, up to so much: under load each piece by itself would cost far more. */
const CHUNK_BYTES = 65_536;

export function createOutlet({ onHungry, onGone }: OutletOptions): Outlet {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  let isHungry = false;
  let isGone = false;
  let controller: ReadableStreamDefaultController<Uint8Array>;

  function feed(): void {
    if (!isHungry || pieces.length === 0) return;
    isHungry = false;
    controller.enqueue(take());
  }

  function take(): Uint8Array {
    let [count, size] = [1, pieces[0]!.length];
    for (; count < pieces.length; count++) {
      if (size + pieces[count]!.length > CHUNK_BYTES) break;
      size += pieces[count]!.length;
    }
    const taken = pieces.splice(0, count);
    bytes -= size;
    return count === 1 ? taken[0]! : joined(taken, size);
  }

  function leave(): void {
    if (isGone) return;
    isGone = true;
    pieces = [];
    onGone();
  }

  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(its) {
      controller = its;
    },
    pull() {
      isHungry = true;
      feed();
      if (isHungry) onHungry();
    },
    cancel: leave,
  };
  return {
    // Nothing is taken before it is asked for: what waits is counted here.
    readable: new ReadableStream(source, { highWaterMark: 0 }),
    write(piece) {
      const isFull = pieces.length >= MOST_PIECES || bytes + piece.length > MOST_BYTES;
      if (isGone || (isFull && pieces.length > 0)) return false;
      pieces.push(piece);
      bytes += piece.length;
      feed();
      return true;
    },
    isEmpty: () => pieces.length === 0,
    end() {
      if (isGone) return;
      if (pieces.length > 0) controller.enqueue(joined(pieces, bytes));
      controller.close();
      leave();
    },
    cut() {
      if (isGone) return;
      // In plain words, since the server writes them out. Ended in good order, the connection would
      // stay for as long as nobody reads from it.
      controller.error("A stream was broken off: its reader was too slow");
      leave();
    },
  };
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
