/** The sign of Trunkline: a lit jack on the trunk line, its cord hanging down, so that it makes a T. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden className={className}>
      <path
        d="M2.5 11.5h5m17 0h5M16 20v9"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.5"
        strokeLinecap="round"
      />
      <circle cx="16" cy="11.5" r="7.25" fill="none" stroke="currentColor" strokeWidth="2.5" />
      <circle cx="16" cy="11.5" r="3.25" fill="var(--accent)" />
    </svg>
  );
}
