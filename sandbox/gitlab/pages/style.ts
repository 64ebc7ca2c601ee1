/** The one stylesheet of the pages. Light and dark by the reader's own setting. */
export const STYLE = `
:root { color-scheme: light dark;
  --page: light-dark(#f6f6f8, #16161a); --card: light-dark(#fff, #1f1f25); --line: light-dark(#dcdce3, #34343d);
  --text: light-dark(#24242b, #e6e6ec); --soft: light-dark(#65656f, #a0a0ab); --link: light-dark(#2f5ca0, #8ab4f0);
  --good: light-dark(#177245, #57c28a); --bad: light-dark(#b3261e, #f0857d); --busy: light-dark(#1a5fb4, #7ab0f5);
  --wait: light-dark(#96600a, #e0aa52); --idle: light-dark(#65656f, #a0a0ab); --merged: light-dark(#6a3fa8, #b794f0);
  --added: light-dark(#e3f5e9, #16321f); --removed: light-dark(#fde8e6, #3b1b19); --hunk: light-dark(#eef2fb, #1d2638); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
header { background: var(--card); border-bottom: 1px solid var(--line); padding: 10px 24px; display: flex; gap: 12px;
  align-items: baseline; flex-wrap: wrap; }
header .brand { font-weight: 600; color: var(--text); }
header .note { margin-left: auto; color: var(--soft); font-size: 13px; }
main { max-width: 1040px; margin: 0 auto; padding: 24px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 0; }
.soft { color: var(--soft); } .small { font-size: 13px; } p { margin: 8px 0; }
.lead { margin: 0 0 20px; color: var(--soft); display: flex; gap: 8px; align-items: center; flex-wrap: wrap; }
code, pre { font: 13px/1.5 ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; }
code { background: var(--page); border: 1px solid var(--line); border-radius: 4px; padding: 1px 5px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 20px; overflow: hidden; }
section > .head { padding: 10px 16px; border-bottom: 1px solid var(--line); display: flex; gap: 10px; align-items: center;
  flex-wrap: wrap; }
section > .head .end { margin-left: auto; }
section > .body { padding: 12px 16px; } section > .body.text { white-space: pre-wrap; overflow-wrap: anywhere; }
section > .empty { padding: 12px 16px; color: var(--soft); }
table { width: 100%; border-collapse: collapse; } td, th { padding: 8px 16px; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 500; font-size: 13px; white-space: nowrap; line-height: 22px; }
tr + tr > * { border-top: 1px solid var(--line); }
td { white-space: nowrap; } td.end { text-align: right; }
td.name { width: 100%; white-space: normal; overflow-wrap: anywhere; }
.badge { display: inline-block; border-radius: 99px; padding: 1px 10px; font-size: 13px; font-weight: 500; white-space: nowrap;
  border: 1px solid currentColor; }
.good { color: var(--good); } .bad { color: var(--bad); } .busy { color: var(--busy); } .wait { color: var(--wait); }
.idle { color: var(--idle); } .merged { color: var(--merged); }
.label { background: var(--hunk); border-radius: 99px; padding: 1px 10px; font-size: 13px; }
.stages { display: flex; gap: 16px; padding: 12px 16px; flex-wrap: wrap; }
.stage { min-width: 180px; } .stage > .small { text-transform: capitalize; margin-bottom: 6px; }
.job { display: flex; justify-content: space-between; gap: 12px; border: 1px solid var(--line); border-radius: 6px;
  padding: 6px 10px; margin-bottom: 6px; color: var(--text); }
.file + .file { border-top: 1px solid var(--line); }
.file > .path { padding: 8px 16px; font-weight: 500; overflow-wrap: anywhere; }
pre.diff, pre.trace, pre.blob { margin: 0; overflow-x: auto; }
pre.diff { border-top: 1px solid var(--line); } pre.diff span { display: block; padding: 0 16px; min-width: max-content; }
pre.diff .add { background: var(--added); } pre.diff .del { background: var(--removed); }
pre.diff .hunk { background: var(--hunk); color: var(--soft); } pre.diff .meta { color: var(--soft); }
pre.trace { background: #111116; color: #e6e6ec; padding: 14px 16px; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.blob { padding: 12px 16px; }
.comment { padding: 12px 16px; } .comment + .comment { border-top: 1px solid var(--line); }
.comment .text { white-space: pre-wrap; overflow-wrap: anywhere; } .comment.system { color: var(--soft); font-size: 13px; }
.comment:target { background: var(--hunk); }
`
