/**
 * Owns how the details of pages look. The style is a file of its own, which every Content-Security-Policy with `'self'`
 * allows.
 */

export const STYLE = `body {
  background: canvas;
  color: canvastext;
  font: 1rem/1.5 system-ui, sans-serif;
  margin: 0 auto;
  max-width: 60rem;
  overflow-wrap: anywhere;
  padding: 1rem clamp(1rem, 4vw, 3rem) 3rem;
}
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
pre, td { font: .875rem/1.5 ui-monospace, monospace; }
pre {
  background: color-mix(in srgb, canvas, canvastext 7%);
  border-radius: .4rem;
  overflow: auto;
  overflow-wrap: normal;
  padding: .8rem 1rem;
}
table { border-collapse: collapse; table-layout: fixed; width: 100%; }
tr { border-top: 1px solid color-mix(in srgb, canvas, canvastext 15%); }
td, th { padding: .3rem 1rem .3rem 0; text-align: left; vertical-align: top; white-space: pre-wrap; }
th { font-weight: normal; width: 25%; }
mark { background: rgb(255 60 60 / .25); color: inherit; }
`;
