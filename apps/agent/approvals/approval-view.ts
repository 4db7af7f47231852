/** An approval that waits, as pages, the command line and other agents are shown it. */
export interface ApprovalView {
  id: string;
  /** What is asked, as a question in one line. */
  title: string;
  /** What the text is: "command" or "task". */
  noun: string;
  /** Exactly what would run. */
  text: string;
  /** The text with its lines numbered and everything in it made visible. */
  shown: string;
  /** "3 lines, 120 characters". */
  size: string;
  directory: string;
  /** The scripts that it runs. */
  files: readonly { path: string; sha256: string }[];
  /** Why it is asked once more. */
  note?: string;
}
