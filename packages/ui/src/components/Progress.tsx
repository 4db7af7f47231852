interface ProgressProps {
  /** What is being done now: "Reading source 3 of 8". */
  words: string;
  /** From 0 to 1; left out when it is not known how far it is. */
  value?: number;
}

/** Work of more than a second: what is being done, and how far it is. */
export function Progress({ words, value }: ProgressProps) {
  const percent = value === undefined ? undefined : Math.round(Math.min(1, Math.max(0, value)) * 100);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex justify-between gap-4 text-14">
        <span aria-live="polite">{words}</span>
        {percent !== undefined && <span className="font-mono text-12 text-muted">{percent} %</span>}
      </div>
      <div
        role="progressbar"
        aria-label={words}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        className="h-1 overflow-hidden rounded-full bg-line"
      >
        <Bar percent={percent} />
      </div>
    </div>
  );
}

function Bar({ percent }: { percent: number | undefined }) {
  if (percent === undefined)
    return <div className="h-full w-1/4 animate-flow rounded-full bg-accent-strong" />;
  return (
    <div
      className="h-full origin-left rounded-full bg-accent-strong transition-transform"
      style={{ transform: `scaleX(${percent / 100})` }}
    />
  );
}
