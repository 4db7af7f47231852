interface LevelMeterProps {
  /** 0 to 1. */
  level: number;
  seconds: number;
  shortest: number;
  longest: number;
}

/** How loud it is, and how much of the needed time is there. */
export function LevelMeter({ level, seconds, shortest, longest }: LevelMeterProps) {
  const enough = seconds >= shortest;
  return (
    <div className="flex flex-col gap-1.5">
      <meter aria-label="Level" min={0} max={1} value={level} className="sr-only" />
      <div aria-hidden className="h-2 overflow-hidden rounded-full bg-line">
        <div
          className="h-full origin-left rounded-full bg-live"
          style={{ transform: `scaleX(${level.toFixed(3)})` }}
        />
      </div>
      <p className="flex justify-between text-12 text-muted">
        <span>
          {shortest} to {longest} seconds
        </span>
        <span className={`font-mono ${enough ? 'text-live-text' : ''}`}>{seconds.toFixed(1)} s</span>
      </p>
    </div>
  );
}
