/** Whether there may be something that was not looked at yet. */

export interface News {
  tell(): void;
  /** Whether there was any: who takes it has to look. */
  take(): boolean;
  /** Resolves when there is. */
  comes(): Promise<void>;
}

/** At first there may be. */
export function createNews(): News {
  let isThere = true;
  let coming = Promise.withResolvers<void>();
  return {
    tell() {
      isThere = true;
      coming.resolve();
    },
    take() {
      const wasThere = isThere;
      isThere = false;
      coming = Promise.withResolvers();
      return wasThere;
    },
    comes: () => coming.promise,
  };
}
