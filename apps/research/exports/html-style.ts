/** The look of an exported report, on screen and on paper. */
export const HTML_STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c1b19, #ece8e0); --muted: light-dark(#6a6459, #a29e96); --line: light-dark(#e4dfd5, #2b2e38); --accent: light-dark(#96540f, #f0a04b); --good: light-dark(#24704a, #6cc797); --bad: light-dark(#ad372e, #f08b81); }
body { margin: 0; background: light-dark(#faf8f4, #14151a); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 68ch; margin: 0 auto; padding: 3rem 1.25rem; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: 1.75rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
a { color: var(--accent); }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 2px solid var(--accent); color: var(--muted); }
.cite { text-decoration: none; font-size: 0.875em; } .doubt { color: var(--bad); }
.evidence { padding-left: 1.5rem; } .evidence > li { margin: 1.25rem 0; padding-bottom: 0.5rem; border-bottom: 1px solid var(--line); } .evidence > li:target { outline: 2px solid var(--accent); outline-offset: 6px; }
.evidence p { margin: 0.25rem 0; } .holds { color: var(--good); } .fails { color: var(--bad); } .from, footer { color: var(--muted); font-size: 0.875rem; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid var(--line); border-radius: 8px; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
@media print { :root { color-scheme: light; } body { background: none; font-size: 11pt; } main { max-width: none; padding: 0; } h2, h3 { break-after: avoid; } .evidence > li { break-inside: avoid; } }
@page { margin: 2cm; }
`;
