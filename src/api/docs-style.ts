/**
 * The style sheet of the documentation page. It stands in the page itself, and the page's security policy names its
 * hash: nothing is fetched from anywhere.
 */
export const DOCS_STYLE = `
:root {
  color-scheme: light dark;
  --ink: #1d2433; --soft: #5b6577; --line: #dfe4ec; --paper: #ffffff; --wash: #f5f7fa;
  --get: #1f6feb; --post: #1a7f4b; --bad: #b42318; --code: #10192b; --code-ink: #e6edf7;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e9f2; --soft: #9aa6ba; --line: #2c3648; --paper: #131a26; --wash: #1a2331;
    --get: #6cb0ff; --post: #5fd39a; --bad: #ff8f83; --code: #0b111b; --code-ink: #dbe6f6;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
a { color: var(--get); text-decoration: none; }
a:hover { text-decoration: underline; }
.layout { display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); max-width: 78rem; margin: 0 auto; }
nav {
  position: sticky; top: 0; align-self: start; height: 100vh; overflow-y: auto;
  padding: 2rem 1.25rem; border-right: 1px solid var(--line); font-size: .9rem;
}
nav h2 { margin: 1.4rem 0 .4rem; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: block; padding: .22rem 0; color: var(--ink); }
main { padding: 2.2rem 2.5rem 6rem; min-width: 0; }
h1 { margin: 0 0 .4rem; font-size: 1.9rem; letter-spacing: -.015em; }
.version { color: var(--soft); font-size: 1rem; font-weight: 400; letter-spacing: 0; }
main > section > h2 { margin: 3rem 0 .3rem; padding-top: 1.2rem; border-top: 1px solid var(--line); font-size: 1.35rem; }
h3 { margin: 0; font-size: 1.05rem; }
h4 { margin: 1.4rem 0 .45rem; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); }
p { margin: .4rem 0 .8rem; }
.soft { color: var(--soft); }
article { margin: 1.4rem 0; border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
article > header { padding: .9rem 1.2rem; background: var(--wash); border-bottom: 1px solid var(--line); }
article > .body { padding: .6rem 1.2rem 1.3rem; }
.address { display: flex; align-items: baseline; gap: .7rem; flex-wrap: wrap; margin-top: .15rem; }
.address code { font-size: .98rem; background: none; padding: 0; overflow-wrap: anywhere; }
.method { font: 700 .78rem/1 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; letter-spacing: .03em; }
.method.get { color: var(--get); } .method.post { color: var(--post); }
.tag { margin-left: auto; font-size: .78rem; color: var(--soft); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: .87em; background: var(--wash); border-radius: 4px; padding: .08em .3em; }
pre {
  margin: .3rem 0 .6rem; padding: .8rem 1rem; background: var(--code); color: var(--code-ink);
  border-radius: 8px; overflow-x: auto; font-size: .84rem; line-height: 1.5;
}
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .92rem; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); }
th, td { padding: .42rem .8rem .42rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
td:first-child { white-space: nowrap; }
.required { color: var(--bad); font-size: .78rem; }
.kind { color: var(--soft); min-width: 7rem; }
.status { font-variant-numeric: tabular-nums; font-weight: 600; }
.ok { color: var(--post); } .bad { color: var(--bad); }
tr:target td { background: var(--wash); }
@media (max-width: 52rem) {
  .layout { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); padding: 1rem 1.25rem; }
  main { padding: 1.4rem 1.1rem 4rem; }
  td:first-child { white-space: normal; }
}
`
