/** The sign of Trunkline: a jack in its ring, lit, with the cord leaving below. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden className={className}>
      <path
        d="M16 22v3a5 5 0 0 0 5 5h3"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.5"
        strokeLinecap="round"
      />
      <circle cx="16" cy="13" r="9" fill="none" stroke="currentColor" strokeWidth="2.5" />
      <circle cx="16" cy="13" r="4" fill="var(--accent)" />
    </svg>
  );
}
