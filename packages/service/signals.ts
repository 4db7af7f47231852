const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const IMPATIENT = 130;

/** Waits for the first signal to stop; a second one ends the process at once, for whoever does not want to wait. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (asked) process.exit(IMPATIENT);
        asked = true;
        resolve(signal);
      });
    }
  });
}
