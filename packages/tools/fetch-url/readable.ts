/** The text of an answer, or why it has none. */
export type Readable = { text: string } | { problem: string };
