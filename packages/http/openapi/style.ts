/** The look of `/docs`: the colours of the product, in light and dark. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #faf8f4; --raised: #ffffff; --ink: #1c1b19; --soft: #5f5b54; --line: #e4dfd5; --accent: #9a5410;
}
@media (prefers-color-scheme: dark) {
  :root { --paper: #14151a; --raised: #1c1e25; --ink: #ece8e0; --soft: #a9a59c; --line: #2b2e38; --accent: #f0a04b; }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 24px; max-width: 1100px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
h1 { font-size: 28px; line-height: 1.25; margin: 0; }
h1 small { font-size: 14px; font-weight: 400; color: var(--soft); }
h2 { font-size: 20px; line-height: 1.25; margin: 0 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 14px; margin: 16px 0 4px; color: var(--soft); }
a { color: var(--accent); }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
code, pre, .method { font-family: ui-monospace, monospace; font-size: 14px; }
.method { color: var(--accent); }
nav ul { list-style: none; margin: 16px 0; padding: 0; columns: 400px; column-gap: 24px; }
nav li { break-inside: avoid; overflow-wrap: anywhere; padding-left: 16px; text-indent: -16px; }
nav a { text-decoration: none; color: inherit; }
nav a:hover { text-decoration: underline; }
section { margin: 16px 0; padding: 16px; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; }
section:target { border-color: var(--accent); }
section p { margin: 4px 0; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 4px 8px 4px 0; border-bottom: 1px solid var(--line); }
pre { margin: 4px 0; padding: 8px 12px; overflow-x: auto; background: var(--paper); border-radius: 8px; }
dl { display: grid; grid-template-columns: 48px 1fr; gap: 4px 8px; margin: 0; }
dt { font-weight: 600; }
dd { margin: 0; min-width: 0; }
.media { color: var(--soft); font-size: 12px; }
`;
