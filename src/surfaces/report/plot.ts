/** What all figures share: a frame with labelled axes, drawn twice, for wide and for narrow screens. */
import { at, type Html, html } from "./html.ts";
import { type Scale, scale, ticks } from "./scale.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Where the figure itself lies; around it stand the axes and their words. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Axis {
  readonly range: readonly [number, number];
  readonly title: string;
  readonly whole?: boolean;
  readonly label?: (value: number) => string;
}

export interface Frame {
  readonly x: Scale;
  readonly y: Scale;
  readonly area: Area;
  /** Grid, ticks and titles; goes below what is drawn. */
  readonly drawn: Html;
}

const plainLabel = (value: number): string => value.toLocaleString("en-US");

export function frame(size: Size, margin: Area, xAxis: Axis, yAxis: Axis): Frame {
  const area: Area = {
    left: margin.left,
    right: size.width - margin.right,
    top: margin.top,
    bottom: size.height - margin.bottom,
  };
  const x = scale(...xAxis.range, area.left, area.right);
  const y = scale(...yAxis.range, area.bottom, area.top);
  const across = ticks(...xAxis.range, Math.max(2, Math.floor((area.right - area.left) / 56)), xAxis.whole);
  const upward = ticks(...yAxis.range, Math.max(2, Math.floor((area.bottom - area.top) / 40)), yAxis.whole);
  const xLabel = xAxis.label ?? plainLabel;
  const yLabel = yAxis.label ?? plainLabel;
  const drawn = html`<g class="grid">${upward.map(
    (value) => html`<line x1="${at(area.left)}" x2="${at(area.right)}" y1="${at(y(value))}" y2="${at(y(value))}"/>`,
  )}</g><g class="axis"><line x1="${at(area.left)}" x2="${at(area.right)}" y1="${at(area.bottom)}" y2="${at(area.bottom)}"/>${across.map(
    (value) =>
      html`<line x1="${at(x(value))}" x2="${at(x(value))}" y1="${at(area.bottom)}" y2="${at(area.bottom + 4)}"/><text x="${at(x(value))}" y="${at(area.bottom + 17)}" text-anchor="middle">${xLabel(value)}</text>`,
  )}${upward.map(
    (value) => html`<text x="${at(area.left - 7)}" y="${at(y(value) + 4)}" text-anchor="end">${yLabel(value)}</text>`,
  )}<text class="title" x="${at((area.left + area.right) / 2)}" y="${at(size.height - 5)}" text-anchor="middle">${xAxis.title}</text><text class="title" x="${at(area.left)}" y="12" text-anchor="start">${yAxis.title}</text></g>`;
  return { x, y, area, drawn };
}

export const path = (points: readonly (readonly [number, number])[]): string =>
  points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${at(x)} ${at(y)}`).join("");

const svg = ({ width, height }: Size, about: string, inner: Html): Html =>
  html`<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${about}">${inner}</svg>`;

/** A figure in two sizes; the style shows the one that fits. */
export function figure(
  title: string,
  about: string,
  sizes: { readonly wide: Size; readonly narrow: Size },
  draw: (size: Size) => Html | undefined,
): Html {
  const wide = draw(sizes.wide);
  const narrow = draw(sizes.narrow);
  const body =
    wide === undefined || narrow === undefined
      ? html`<p class="empty">${about}</p>`
      : html`<div class="wide">${svg(sizes.wide, about, wide)}</div><div class="narrow">${svg(sizes.narrow, about, narrow)}</div>`;
  return html`<figure><figcaption>${title}</figcaption>${body}</figure>`;
}

/** At most so many of a long series, its last one among them. */
export const thinned = <T>(values: readonly T[], max: number): T[] => {
  if (values.length <= max) return [...values];
  return Array.from({ length: max }, (_, i) => values[Math.round((i * (values.length - 1)) / (max - 1))]!);
};
