/** The looks of a report: one column on a phone, light or dark as the reader has it, and fit to be printed. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #1b2330; --soft: #5a6676; --rule: #dde2e9; --grid: #e8ecf1;
  --c1: #2563c9; --c2: #b4540a; --c3: #17804f; --anchor: #8a6d1f; --good: #17804f; --bad: #b3261e; --mid: #8a6d1f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11151b; --card: #1a2029; --ink: #e7ebf1; --soft: #9ba7b6; --rule: #2d3643; --grid: #262e39;
    --c1: #7fb0ff; --c2: #f2a365; --c3: #66cf9c; --anchor: #d9b95c; --good: #66cf9c; --bad: #ff8a80; --mid: #d9b95c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
}
main { max-width: 1200px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 20px; line-height: 1.3; margin: 36px 0 12px; overflow-wrap: anywhere; }
h3 { font-size: 15px; margin: 24px 0 8px; }
p { margin: 0 0 8px; }
.soft, .note { color: var(--soft); }
.note { font-size: 13px; }
code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", Consolas, monospace; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 0 0 16px; padding: 0; }
.tile, figure, .card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.tile { padding: 10px 14px; }
.tile dt { color: var(--soft); font-size: 13px; }
.tile dd { margin: 0; }
.tile .value { font-size: 20px; font-weight: 600; line-height: 1.3; }
figure { margin: 0 0 16px; padding: 12px 14px 8px; overflow: hidden; }
figcaption { font-weight: 600; margin-bottom: 4px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
.empty { color: var(--soft); padding: 24px 0; text-align: center; }
svg { display: block; width: 100%; height: auto; }
.narrow { display: none; }
svg text { font-size: 12px; fill: var(--soft); }
svg text.title { font-size: 12px; }
.grid line { stroke: var(--grid); stroke-width: 1; }
.axis line { stroke: var(--soft); stroke-width: 1; }
.c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
svg .line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
svg .band { fill: var(--c); opacity: 0.12; }
svg .stall { fill: var(--bad, #b3261e); opacity: 0.1; }
svg .error { fill: none; stroke: var(--c); stroke-width: 1.2; opacity: 0.75; }
svg circle { fill: var(--c); }
svg text.end, svg text.now { fill: var(--c); font-weight: 600; }
svg text.now { font-size: 13px; }
svg path.anchor { fill: none; stroke: var(--anchor); stroke-width: 1; stroke-dasharray: 5 4; opacity: 0.8; }
svg path.leader { fill: none; stroke: var(--anchor); stroke-width: 1; opacity: 0.5; }
svg text.anchor { fill: var(--anchor); }
.card { margin: 0 0 16px; padding: 4px 14px 8px; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--rule); vertical-align: middle; white-space: nowrap; }
tr:last-child > td { border-bottom: 0; }
th:last-child, td:last-child { padding-right: 0; }
th { color: var(--soft); font-weight: 500; font-size: 13px; }
td.right, th.right { text-align: right; }
td.words { white-space: normal; min-width: 220px; overflow-wrap: anywhere; }
td svg { display: inline-block; vertical-align: middle; }
td svg.interval { width: 150px; height: 16px; }
td svg.ratio { width: 76px; height: 20px; }
.interval .zero, .ratio .bound { stroke: var(--soft); stroke-width: 1; opacity: 0.45; }
.interval .reach { stroke: var(--c); stroke-width: 2; }
.ratio .trace { fill: none; stroke: var(--c); stroke-width: 1.5; }
.promote { --c: var(--good); } .reject { --c: var(--bad); } .inconclusive { --c: var(--mid); }
.verdict { color: var(--c); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
details { margin: 0 0 16px; }
summary { cursor: pointer; color: var(--soft); padding: 6px 0; }
footer { color: var(--soft); font-size: 13px; margin-top: 36px; border-top: 1px solid var(--rule); padding-top: 12px; }
@media (max-width: 760px) {
  main { padding: 18px 12px 32px; }
  h1 { font-size: 22px; }
  .pair { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .wide { display: none; } .narrow { display: block; }
  .narrow svg { max-width: 560px; margin: 0 auto; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
  .tile { padding: 8px 10px; } .tile .value { font-size: 17px; }
  figure { padding: 10px 8px 6px; }
  td.words { min-width: 120px; }
  .stack thead { display: none; }
  .stack tr { display: block; padding: 6px 0; border-bottom: 1px solid var(--rule); }
  .stack tr:last-child { border-bottom: 0; }
  .stack td { display: block; padding: 0; border: 0; white-space: normal; overflow-wrap: anywhere; }
}
@media print {
  body { background: #fff; } main { max-width: none; padding: 0; }
  figure, .tile, .card, tr { break-inside: avoid; }
}
`;
