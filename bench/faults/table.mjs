import { CHECKS } from './audit.mjs';

/** A column for each campaign, and below it what was found; a line for each mutant. */
export function printTable(results) {
  const columns = results.filter((result) => !result.mutant);
  if (columns.length > 0) {
    const names = [...new Set(columns.flatMap(({ figures }) => Object.keys(figures)))];
    printRows(
      ['', ...columns.map(({ name }) => name)],
      [
        ...names.map((name) => [name, ...columns.map(({ figures }) => figures[name] || '·')]),
        ...Object.keys(CHECKS).map((check) => [
          check,
          ...columns.map(({ findings }) => findings[check].count),
        ]),
      ],
    );
  }
  for (const { name, kills } of columns) {
    const places = Object.entries(kills).sort(([, a], [, b]) => b - a);
    if (places.length > 0)
      console.log(`\n${name}: ${places.map(([place, count]) => `${count} ${place}`).join(', ')}`);
  }
  for (const { name, found, findings, refused, troubles } of columns) {
    for (const check of found) {
      console.log(`\n${name}: ${check} (${CHECKS[check]}): ${findings[check].examples.join('; ')}`);
    }
    for (const each of [...refused, ...troubles]) console.log(`${name}: ${each}`);
  }
  const mutants = results.filter((result) => result.mutant);
  if (mutants.length > 0) console.log('\nA store that …');
  for (const { name, ok, found } of mutants) {
    console.log(
      `  ${name.padEnd(32)} ${ok ? 'found out' : 'NOT FOUND OUT'}: ${found.join(', ') || 'nothing'}`,
    );
  }
}

function printRows(head, rows) {
  const widths = head.map((_, index) => Math.max(...[head, ...rows].map((row) => String(row[index]).length)));
  const line = (row) =>
    row
      .map((cell, index) =>
        index === 0 ? String(cell).padEnd(widths[0]) : String(cell).padStart(widths[index]),
      )
      .join('  ');
  for (const row of [head, widths.map((width) => '-'.repeat(width)), ...rows]) console.log(`  ${line(row)}`);
}
