import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { t } from '../texts.js';
import { resolveColor, THEME_EVENT } from '../theme.js';

const HEIGHT_PX = 190;

export interface PlotSeries {
  label: string;
  /** The class of its dot, and the end of its colour's name. */
  tone: 'success' | 'danger' | 'a' | 'b';
  values: readonly (number | null)[];
}

interface PlotProps {
  /** What is plotted, for those who do not see it. */
  label: string;
  /** Seconds since 1970. */
  times: readonly number[];
  series: readonly PlotSeries[];
  /** Bars are stacked, the first series at the bottom. */
  kind: 'bars' | 'lines';
  format: (value: number) => string;
  formatTime: (seconds: number) => string;
  /** Shorter, for the axis. */
  formatAxis: (seconds: number) => string;
  /** Where the scale ends; left out, it goes by the values. */
  top?: number;
  /** How far the marks of the scale may be apart; left out, decimal steps. */
  steps?: number[];
  /** Where there is no value, a line is broken. */
  broken?: boolean;
  /** The title of the present range, shown while nothing is pointed at. */
  note: string;
}

/** A plot with the values under the pointer above it, and all of them as a table below. */
export function Plot(props: PlotProps) {
  const { label, times, series, format, formatTime, note } = props;
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const plot = useRef<uPlot | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const build = () => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsOf(latest.current, element.clientWidth, (index) => setPointed(index)),
        dataOf(latest.current),
        element,
      );
    };
    build();
    const observer = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    observer.observe(element);
    addEventListener(THEME_EVENT, build);
    return () => {
      observer.disconnect();
      removeEventListener(THEME_EVENT, build);
      plot.current?.destroy();
      plot.current = null;
    };
  }, []);

  useEffect(() => plot.current?.setData(dataOf(latest.current)), [times, series]);

  const at = pointed !== null && pointed < times.length ? pointed : null;
  return (
    <figure class="stack-small" aria-label={label}>
      <div class="legend" aria-hidden="true">
        {series.map(({ label: name, tone, values }) => {
          const value = at === null ? undefined : values[at];
          return (
            <span key={name}>
              <span class={`dot ${tone}`} />
              {name} {at !== null && <b>{value === null || value === undefined ? '–' : format(value)}</b>}
            </span>
          );
        })}
        <span>{at === null ? note : formatTime(times[at]!)}</span>
      </div>
      <div class="plot" ref={box} aria-hidden="true" />
      <details class="small muted">
        <summary>{t.asTable}</summary>
        <Numbers {...props} />
      </details>
    </figure>
  );
}

function Numbers({ label, times, series, format, formatTime }: PlotProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section class="numbers" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t.time}</th>
            {series.map((each) => (
              <th scope="col" class="right" key={each.label}>
                {each.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, index) => (
            <tr key={time}>
              <td class="number">{formatTime(time)}</td>
              {series.map(({ label: name, values }) => {
                const value = values[index];
                return (
                  <td class="right number" key={name}>
                    {value === null || value === undefined ? '–' : format(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Stacked: the tall bar of the sum is drawn first, the others over it. */
function dataOf({ times, series, kind }: PlotProps): uPlot.AlignedData {
  if (kind === 'lines') return [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
  const sums = series.map((_, index) =>
    times.map((_time, at) =>
      series.slice(0, index + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
    ),
  );
  return [[...times], ...sums.reverse()] as uPlot.AlignedData;
}

function optionsOf(
  { series, kind, format, formatAxis, top, steps, broken = false }: PlotProps,
  width: number,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const muted = resolveColor('--hp-muted');
  const grid = { stroke: resolveColor('--hp-border'), width: 1 };
  const axis = { stroke: muted, font: '11px system-ui, sans-serif', grid, ticks: { show: false } };
  const drawn = kind === 'bars' ? [...series].reverse() : series;
  return {
    width,
    height: HEIGHT_PX,
    // What is written below the last mark, and a point on the edge, are not cut off.
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 } },
    scales: {
      ...(kind === 'bars' && { x: { range: wholeBars } }),
      y: { range: (_plot, _min, max) => [0, top !== undefined ? top * 1.04 : max > 0 ? max * 1.06 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_plot, times) => times.map(formatAxis),
        space: 74,
        size: 28,
      },
      {
        ...axis,
        size: 56,
        ...(steps && { incrs: steps }),
        values: (_plot, values) =>
          // Without an end of the scale they are counts and milliseconds, of which there are no halves.
          values.map((value) =>
            (top === undefined ? Number.isInteger(value) : value <= top) ? format(value) : '',
          ),
      },
    ],
    series: [
      {},
      ...drawn.map(({ label, tone }) => {
        const color = resolveColor(`--hp-plot-${tone}`);
        return kind === 'bars'
          ? {
              label,
              fill: color,
              width: 0,
              points: { show: false },
              paths: uPlot.paths.bars?.({ size: [0.72, 26] }),
            }
          : {
              label,
              stroke: color,
              width: 1.75,
              spanGaps: !broken,
              points: { size: 4, ...(broken ? { show: true, filter: lonely } : { show: onlyLonely }) },
            };
      }),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
  } as uPlot.Options;
}

/** The first and the last bar are as wide as the others. */
function wholeBars(plot: uPlot, min: number, max: number): [number, number] {
  const times = plot.data[0] ?? [];
  const step = times.length > 1 ? times[1]! - times[0]! : 60;
  return [min - step / 2, max + step / 2];
}

/** Points are drawn where there are too few for a line to be seen. */
function onlyLonely(plot: uPlot, index: number): boolean {
  return (plot.data[index] ?? []).filter((value) => value !== null).length < 3;
}

/** Of a line that is broken, the values that have none beside them: no line leads to them. */
function lonely(plot: uPlot, index: number): number[] {
  const values = [...(plot.data[index] ?? [])];
  const isThere = (at: number) => values[at] !== null && values[at] !== undefined;
  return values.flatMap((_, at) => (isThere(at) && !isThere(at - 1) && !isThere(at + 1) ? at : []));
}
